import {
  environmentNameOf,
  reloadedSettings,
  secretFileName,
  secretSettings,
  settingNames,
  settings,
  type Setting,
  type SettingName,
} from '../../src/platform/config/settings.ts'

const declared = (name: SettingName): Setting<unknown> => settings[name]

const shownDefault = (name: SettingName): string => {
  const { default: standard, defaultInWords } = declared(name)
  if (defaultInWords !== undefined) return defaultInWords
  if (standard === null) return 'none'
  return typeof standard === 'object' ? pairs(standard).join(',') : String(standard)
}

const pairs = (map: object): string[] => Object.entries(map).map(([name, value]) => `${name}=${String(value)}`)

/** docs/settings.md */
export function settingsPage(): string {
  return [
    '# Settings',
    '',
    '<!-- Generated from src/platform/config/settings.ts by `npm run docs`; edit that file. -->',
    '',
    'Settings come from a file (`sterna serve --config sterna.yml`; YAML or JSON) and from environment variables, which override',
    "the file. The variable's name is `STERNA_` plus the setting's name in capitals, with `_` instead of `.`. In the",
    'file, `delivery.port: 25` and `port: 25` below `delivery:` mean the same. An empty variable counts as',
    'absent. Instead of `--config`, the variable `STERNA_CONFIG` may name the file, for the server and every command. At the start, Sterna',
    'reports all errors together.',
    '',
    'The commands that Sterna prints in a terminal and in the log are written as they work there: with the user and the configuration file of a',
    'systemd service, or as `npx sterna` in a checkout. In a container, the variable `STERNA_COMMAND` says how; the image has',
    '`docker compose exec sterna sterna`. Set it to `docker exec NAME sterna` or `kubectl exec deploy/sterna -- sterna` where that works.',
    '',
    'A running server loads the file again when it gets `SIGHUP`, and logs which changes took effect and which need a restart. It also',
    'loads the certificate files again. If the file has an error, nothing changes.',
    '',
    '- **duration**: a number and a unit, `90s`, `15m`, `48h`, `7d`.',
    '- **size**: a number and a unit, `64KB`, `25MB`, `1GB`; powers of 1024.',
    '- **list**: a YAML list, or comma-separated text. `none` is the empty list.',
    '- **by name**: a YAML map, or text such as `free=100,starter=500`.',
    '- **address:port**: IPv6 addresses in brackets, `[::]:8080`; in the file put quotes around them. To listen, `[::]` takes IPv4 and IPv6,',
    '  unless the same setting has an IPv4 address for the same port; on a machine without IPv6 it takes IPv4 only. `0.0.0.0` takes IPv4 only.',
    '- **path**: relative to the directory in which Sterna starts.',
    '- **secret text** is never shown. Instead of the text you can name a file that holds it, as Docker and Kubernetes hand over secrets: put',
    '  `_file` after the name of the setting, or `_FILE` after its variable.',
    '',
    ...settingNames.flatMap((name) => [
      `## ${name}`,
      '',
      declared(name).doc,
      '',
      `- Type: ${declared(name).type.title}`,
      `- Default: ${declared(name).defaultInWords === undefined ? `\`${shownDefault(name)}\`` : shownDefault(name)}`,
      `- Environment: \`${environmentNameOf(name)}\``,
      ...(secretSettings.has(name)
        ? [
            `- As a file: \`${secretFileName(name)}\`, or \`${environmentNameOf(secretFileName(name))}\`; a final line break does not count.`,
          ]
        : []),
      ...(reloadedSettings.has(name) ? ['- A change takes effect at `SIGHUP`.'] : []),
      '',
    ]),
  ].join('\n')
}

/** config/sterna.example.yml: every setting with its default, commented out. */
export function exampleFile(): string {
  const lines = [
    '# Every setting of Sterna with its default. Copy this file, uncomment the settings you change, and start with',
    '#   sterna serve --config sterna.yml',
    '# Generated from src/platform/config/settings.ts by `npm run docs`. See docs/settings.md for more.',
  ]
  for (const name of settingNames) {
    lines.push('', ...wrap(declared(name).doc, 116).map((line) => `# ${line}`), ...exampleLines(name).map((line) => `#${line}`))
    if (secretSettings.has(name)) lines.push(`#${secretFileName(name)}: none`)
  }
  return `${lines.join('\n')}\n`
}

function exampleLines(name: SettingName): string[] {
  const { default: standard, defaultInWords } = declared(name)
  if (defaultInWords !== undefined) return [`${name}:   # ${defaultInWords}`]
  if (standard === null) return [`${name}: none`]
  if (typeof standard !== 'object') return [`${name}: ${yamlText(String(standard))}`]
  return [`${name}:`, ...Object.entries(standard).map(([key, value]) => `  ${key}: ${String(value)}`)]
}

/** YAML reads a bracket at the beginning as a list. */
const yamlText = (text: string): string =>
  text.includes(',') ? `[${text.replaceAll(',', ', ')}]` : text.startsWith('[') ? `'${text}'` : text

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
