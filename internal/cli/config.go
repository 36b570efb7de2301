package cli

import (
	"fmt"
	"strings"

	"github.com/magiconair/properties"
	"github.com/urfave/cli/v2"

	"klogfs/logstore"
)

func configFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "c", Usage: "a server property, as in log.segment.bytes=1048576; may be repeated", Aliases: []string{"property"}},
		&cli.StringFlag{Name: "config", Usage: "a `FILE` of server properties; -c goes before it"},
	}
}

// serverConfig reads --config and -c. Of a file, which may be a broker's whole
// server.properties, the keys that klogfs has a use for are taken.
func serverConfig(c *cli.Context) (logstore.ServerConfig, error) {
	config := logstore.ServerConfig{}
	if file := c.String("config"); file != "" {
		loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
		p, err := loader.LoadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read --config: %w", err)
		}
		for key, value := range p.Map() {
			if logstore.IsServerKey(key) {
				config[key] = value
			}
		}
	}
	given, err := keyValues(c.StringSlice("c"), "-c")
	if err != nil {
		return nil, err
	}
	for key, value := range given {
		config[key] = value
	}
	if err := logstore.ValidateServerConfig(config); err != nil {
		return nil, usage("%v", err)
	}
	return config, nil
}

// keyValues takes settings of the form key=value apart.
func keyValues(settings []string, flag string) (map[string]string, error) {
	values := make(map[string]string, len(settings))
	for _, s := range settings {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, usage("%s %q is not key=value", flag, s)
		}
		values[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return values, nil
}
