// HashiCorp Vault with the KV engine alone, in memory: what `npm run vault` tries the secret store on. It says its address and
// root token as one line of JSON, and ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

// No plugin is found by name: the engine is given to the core as it is.
type noPlugins struct{}

func (noPlugins) Contains(string, consts.PluginType) bool { return false }
func (noPlugins) Get(string, consts.PluginType) (func() (interface{}, error), bool) {
	return nil, false
}
func (noPlugins) Keys(consts.PluginType) []string { return nil }
func (noPlugins) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Unknown, false
}

func serve() error {
	ctx := context.Background()
	logger := hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: os.Stderr})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return err
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:        storage,
		LogicalBackends: map[string]logical.Factory{"kv": kv.Factory},
		BuiltinRegistry: noPlugins{},
		DisableMlock:    true,
		Logger:          logger,
	})
	if err != nil {
		return err
	}
	initialized, err := core.Initialize(ctx, &vault.InitParams{
		BarrierConfig:  &vault.SealConfig{SecretShares: 1, SecretThreshold: 1},
		RecoveryConfig: &vault.SealConfig{},
	})
	if err != nil {
		return err
	}
	if unsealed, err := core.Unseal(initialized.SecretShares[0]); err != nil || !unsealed {
		return errors.Join(errors.New("vault stays sealed"), err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	started := map[string]string{"url": "http://" + listener.Addr().String(), "token": initialized.RootToken}
	if err := json.NewEncoder(os.Stdout).Encode(started); err != nil {
		return err
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	properties := &vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{}}
	return http.Serve(listener, vaulthttp.Handler.Handler(properties))
}

func main() { log.Fatal(serve()) }
