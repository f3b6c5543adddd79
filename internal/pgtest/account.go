package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// account is whom server programs run as; nil is the user of this process.
type account struct{ uid, gid uint32 }

// serverAccount is nil except for root, as whom neither PostgreSQL nor
// PgBouncer runs.
func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("pgtest: user %s: %w", name, err)
		}
		return &account{uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("pgtest: PostgreSQL does not run as root, " +
		"and there is neither a user postgres nor nobody to run it as")
}
