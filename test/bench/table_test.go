package bench

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"
)

// line is a measured quantity.
type line struct{ quantity, value, limit string }

// table is what this run has measured, printed at its end: benchmarks that fail print none of their metrics.
var table []line

// note keeps a number for the table that nothing depends on.
func note(quantity, format string, value ...any) {
	table = append(table, line{quantity, fmt.Sprintf(format, value...), ""})
}

// atMost fails the benchmark when the ratio is above its limit.
func atMost(b *testing.B, quantity string, ratio, limit float64) {
	b.Helper()
	table = append(table, line{quantity, fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≤ %.2f", limit)})
	if ratio > limit {
		b.Errorf("%s: %.2f, above %.2f", quantity, ratio, limit)
	}
}

// exactly fails the benchmark when the count is another one.
func exactly(b *testing.B, quantity string, want, got int) {
	b.Helper()
	table = append(table, line{quantity, fmt.Sprint(got), fmt.Sprintf("= %d", want)})
	require.Equal(b, want, got, quantity)
}

func printTable(to io.Writer) {
	aligned := tabwriter.NewWriter(to, 0, 0, 1, ' ', 0)
	lines := slices.Concat([]line{{"quantity", "value", "goal"}, {"---", "---", "---"}}, table)
	for _, l := range lines {
		_, err := fmt.Fprintf(aligned, "| %s\t| %s\t| %s\t|\n", l.quantity, l.value, l.limit)
		must(err)
	}
	must(aligned.Flush())
}

// median of an odd number of values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
