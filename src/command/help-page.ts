import { commonOptions, usageOf } from './command-line.ts'
import { commands } from './command-list.ts'
import { table, type Command } from './command.ts'
import { SternaError } from '../errors.ts'

const introduction = [
  'Results go to standard output, logs and remarks to standard error. A command that fails prints one line saying why and exits',
  'with a code other than 0. Commands work on the server that holds the data directory, or on the directory itself',
  'where no server runs: give them the same --config or STERNA_DATA_DIR as the server.',
]

/** What `sterna help` prints: the list of commands, or one command or group in full. */
export function helpPage(words: readonly string[]): string {
  if (words.length === 0) {
    const rows = commands.map((command) => [`  ${command.name}`, firstSentence(command.doc)])
    const title = 'sterna: an SMTP relay with an email API'
    return [title, '', table(rows), ...introduction, '', 'sterna help COMMAND explains one command and its options.', ''].join('\n')
  }
  const wanted = words.join(' ')
  const found = commands.filter(({ name }) => name === wanted || name.startsWith(`${wanted} `))
  if (found.length === 0) throw new SternaError('not_found', `There is no command "${wanted}". "sterna help" lists them.`)
  return found.map(helpOn).join('\n')
}

function helpOn(command: Command): string {
  const rows = optionsOf({ ...command.options, ...commonOptions }).map(([usage, doc]) => [`  ${usage}`, doc])
  return [`${usageOf(command)}`, `  ${command.doc}`, '', table(rows)].join('\n')
}

/** docs/commands.md */
export function commandsPage(): string {
  return [
    '# Commands',
    '',
    '<!-- Generated from src/command/ by `npm run docs`; edit those files. -->',
    '',
    'Run them as `npx sterna …` in a checkout, or `docker exec CONTAINER node bin/sterna.js …` for a running container.',
    ...introduction,
    '',
    ...commands.flatMap((command) => [
      `## ${command.name}`,
      '',
      '```',
      usageOf(command),
      '```',
      '',
      command.doc,
      '',
      ...optionsOf(command.options).map(([usage, doc]) => `- \`${usage}\`: ${doc}`),
      ...(Object.keys(command.options).length > 0 ? [''] : []),
    ]),
    'Every command also takes:',
    '',
    ...optionsOf(commonOptions).map(([usage, doc]) => `- \`${usage}\`: ${doc}`),
    '',
  ].join('\n')
}

const firstSentence = (doc: string): string => doc.split(/(?<=\.) /)[0] ?? doc

const optionsOf = (options: Command['options']): [usage: string, doc: string][] =>
  Object.entries(options).map(([name, { value, doc }]) => [value === undefined ? `--${name}` : `--${name} ${value}`, doc])
