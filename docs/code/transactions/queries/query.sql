-- name: RenewCertificate :exec
UPDATE certificate SET expires_on = $2 WHERE id = $1;
