package keys

import (
	"strconv"
	"strings"
)

const (
	lowerCase  = "abcdefghijklmnopqrstuvwxyz"
	hashLength = 40
)

// OutgoingMessageRow is the row key of one message to one recipient by one
// method (Communication - System architecture, "OutgoingMessage + send
// claim"):
//
//	{recipientHash}_{method}
//	{recipientHash}_{method}_{attempt}
//
// recipientHash is what [RecipientHash] gives. method is the delivery method,
// such as "email" or "sms": lower-case letters, digits and '-', a letter
// first. attempt is 0 for the usual message and left out then; a number from 1
// is a new attempt that somebody intended, never a retry, which uses the row
// again. The error is a [*PartError].
func OutgoingMessageRow(recipientHash, method string, attempt int) (string, error) {
	if len(recipientHash) != hashLength || strings.Trim(recipientHash, decimalDigits+"abcdef") != "" {
		return "", outgoingError("recipientHash", "", "is not 40 lower-case hex digits")
	}
	if p := methodProblem(method); p != "" {
		return "", outgoingError("method", method, p)
	}
	switch {
	case attempt < 0:
		return "", outgoingError("attempt", strconv.Itoa(attempt), "is negative")
	case attempt == 0:
		return recipientHash + "_" + method, nil
	}
	return recipientHash + "_" + method + "_" + strconv.Itoa(attempt), nil
}

func methodProblem(method string) string {
	if method == "" {
		return "is empty"
	}
	if !strings.Contains(lowerCase, method[:1]) || strings.Trim(method, lowerCase+decimalDigits+"-") != "" {
		return "is not lower-case letters, digits and '-' with a letter first"
	}
	return lengthProblem(method, MaxPartLen)
}

func outgoingError(part, value, problem string) error {
	return &PartError{Kind: "outgoing message row", Part: part, Problem: problem, Value: excerpt(value)}
}
