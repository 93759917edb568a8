// Command collocd decides which pods share a GPU, beside the stock scheduler.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/colloc/colloc/kube/advice"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := command(os.Stdout)
	c.SetArgs(dashes(os.Args[1:]))
	if err := c.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "collocd:", err)
		stop()
		os.Exit(1)
	}
}

// dashes gives flags with one dash, as colloc's other programs take them, the second
// that cobra wants.
func dashes(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if a == "--" {
			break
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && a[2] != '=' { // but not -n=NAMESPACE
			out[i] = "-" + a
		}
	}
	return out
}

// command is the program; what it prints goes to out.
func command(out io.Writer) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:           "collocd",
		Short:         "collocd decides which pods share a GPU, beside the stock scheduler",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return serve(c.Context(), &f, c.ErrOrStderr()) },
	}
	c.SetOut(out)
	f.register(c.Flags())
	c.AddCommand(explainCommand(), adviseCommand())
	return c
}

// explainCommand is collocd explain.
func explainCommand() *cobra.Command {
	var f flags
	namespace := ""
	c := &cobra.Command{
		Use:   "explain POD",
		Short: "say why a pod waits or who shares its card, from what the API server has now",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return explain(c.Context(), &f, namespace, args[0], c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", kubeconfigUsage)
	c.Flags().StringVar(&f.binding, "binding", "annotate", bindingUsage)
	c.Flags().StringVarP(&namespace, "namespace", "n", "", "the pod's `NAMESPACE`; empty is that of the kubeconfig")
	c.Flags().IntVar(&f.maxSet, "max-set", defaultMaxSet, maxSetUsage)
	c.Flags().StringSliceVar(&f.share, "share", nil, shareUsage)
	return c
}

// adviseCommand is collocd advise.
func adviseCommand() *cobra.Command {
	var f flags
	window, most, asJSON := advice.DefaultWindow, 0, false
	c := &cobra.Command{
		Use:   "advise",
		Short: "say which pods could share a GPU, as they run today with the device plugin; nothing is changed",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return advise(c.Context(), &f, window, most, asJSON, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", kubeconfigUsage)
	c.Flags().StringVar(&f.prometheus, "prometheus", "", "`URL` of the Prometheus that scrapes dcgm-exporter")
	c.Flags().DurationVar(&f.queryTime, "query-time", time.Minute, "how long one query may take")
	c.Flags().DurationVar(&window, "window", window, "the time until now by which pods are judged")
	c.Flags().IntVar(&f.maxSet, "max-set", 2, maxSetUsage)
	c.Flags().StringSliceVar(&f.share, "share", nil, shareUsage)
	c.Flags().IntVar(&most, "most", 20, "how many sets to tell of")
	c.Flags().BoolVar(&asJSON, "json", false, "the whole report as JSON")
	return c
}
