package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/aether-ooc/aether-ooc/arrowbatch"
	"github.com/aether-ooc/aether-ooc/engine"
	"github.com/aether-ooc/aether-ooc/layout"
	"github.com/aether-ooc/aether-ooc/sampler"
)

var (
	errBatchSize = errors.New("mini-batch too large for a message")
	errMismatch  = errors.New("another graph")
	errStopping  = errors.New("the server is shutting down")
)

// codesOf names the code of each kind of error; the first that fits counts.
var codesOf = []struct {
	kind error
	code codes.Code
}{
	{errStopping, codes.Unavailable},
	{engine.ErrClosed, codes.Unavailable},
	{context.Canceled, codes.Canceled},
	{context.DeadlineExceeded, codes.DeadlineExceeded},
	{errNodeID, codes.OutOfRange},
	{sampler.ErrUnknownNode, codes.OutOfRange},
	{errUpload, codes.NotFound},
	{errMismatch, codes.FailedPrecondition},
	{layout.ErrCorrupt, codes.DataLoss},
	{errBatchSize, codes.ResourceExhausted},
	{errUploadRoom, codes.ResourceExhausted},
	{sampler.ErrTooLarge, codes.ResourceExhausted},
	{engine.ErrOverBudget, codes.ResourceExhausted},
	{errTicket, codes.InvalidArgument},
	{arrowbatch.ErrName, codes.InvalidArgument},
	{fs.ErrNotExist, codes.NotFound},
}

func codeOf(err error) codes.Code {
	for _, c := range codesOf {
		if errors.Is(err, c.kind) {
			return c.code
		}
	}
	var bad *engine.RequestError
	if errors.As(err, &bad) {
		return codes.InvalidArgument
	}
	return codes.Internal
}

// serious says that a code speaks of us or of the graph file, not of the
// request.
func serious(c codes.Code) bool {
	return c == codes.Internal || c == codes.Unknown || c == codes.DataLoss
}

// longest is how much of an error's text is sent: it travels in an HTTP header,
// of which clients take 8 KiB.
const longest = 2000

// toStatus is the error as the client gets it; nil stays nil.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok { // gRPC's own
		return err
	}
	text := words(err)
	if len(text) > longest {
		cut := longest
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + " …"
	}
	return status.Error(codeOf(err), text)
}

// words is the error's text. What the engine says of a field of its Request is
// said of the ticket's, which is what the client knows.
func words(err error) string {
	var bad *engine.RequestError
	if !errors.As(err, &bad) {
		return err.Error()
	}
	return fmt.Sprintf("%s is %v: %s", ticketField(bad.Field), bad.Value, bad.Why)
}

// ticketField gives the ticket's name for a field of engine.Request.
func ticketField(field string) string {
	if field == "Attrs" {
		return "node_attrs"
	}
	var name strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}
