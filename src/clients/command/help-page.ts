import { commonOptions, meant, ownOptions, usageWords } from './command-line.ts'
import { commandGroups, commandsFor, operationWord } from './command-list.ts'
import { listObject, usageFault, type Command, type CommandOutput } from './command.ts'
import { definitions, wrapText, wrapWords } from './wrap-text.ts'

/** What holds for every command. */
export const introduction = [
  'Results go to standard output, logs and remarks to standard error. A command that fails prints one line saying why and exits ' +
    'with 1, or with 2 if its command line is wrong. With --json, results and errors are JSON. A command that destroys something asks ' +
    'first; --yes answers.',
  'Commands work on the server that holds the data directory, or on the directory itself where no server runs: give them the ' +
    'same --config or STERNA_DATA_DIR as the server.',
]

/**
 * What `sterna help` prints: the list of commands, or one command or group in full.
 * @throws SternaError `invalid_parameter` if there is no such command
 */
export function help(words: readonly string[]): CommandOutput {
  const wanted = words.join(' ')
  const among = commandsFor(words[0] ?? '')
  const found = among.filter(({ name }) => words.length === 0 || name === wanted || name.startsWith(`${wanted} `))
  if (found.length === 0) {
    const names = among.flatMap(({ name }) => [name, name.split(' ')[0] ?? ''])
    throw usageFault(`There is no command "${wanted}"${meant(wanted, names)} "sterna help" lists them.`)
  }
  const shown = words.length === 0 ? overview() : wanted === operationWord ? operationList(found) : found.map(helpOn).join('\n')
  return { stdout: shown, json: listObject(found.map(commandObject)) }
}

const operationLine = 'api OPERATION'
const aboutOperations = 'Carries out an operation of the API. "sterna help api" lists them.'

/** Each in a line: there are many. */
const operationList = (found: readonly Command[]): string =>
  `${definitions(found.map(({ name, doc }) => [name, firstSentence(doc)] as const))}\n${wrapText(operationNotes)}\n`

export const operationNotes =
  'Each carries out one operation of the API, as openapi.json describes it, and prints the answer as JSON. Parameters of its path are ' +
  'arguments, and all else are options. A list is written with commas, an object as JSON, and --no-NAME says false. ' +
  '"sterna help api OPERATION" explains one.'

function overview(): string {
  const groups = commandGroups.map(({ title, commands: of }) => {
    const rows = of.map(({ name, doc }) => [name, firstSentence(doc)] as const)
    return `${title}\n${definitions(rows)}`
  })
  groups.push(`API\n${definitions([[operationLine, aboutOperations]])}`)
  const rest = [...introduction, 'sterna help COMMAND explains one command and its options.'].map((text) => `${wrapText(text)}\n`)
  return ['sterna: an SMTP relay with an email API\n', ...groups, ...rest].join('\n')
}

function helpOn(command: Command): string {
  const doc = `  ${wrapText(command.doc, 2, 2)}`
  return [wrapWords(usageWords(command), 4), doc, '', definitions(optionRows({ ...ownOptions(command), ...commonOptions }))].join('\n')
}

/** A command as `sterna help --json` shows it. */
function commandObject(command: Command): object {
  const all: Command['options'] = { ...ownOptions(command), ...commonOptions }
  const options = Object.entries(all).map(([name, { type, value, doc, required, choices }]) => ({
    name: `--${name}`,
    type,
    value: value ?? null,
    required: required ?? false,
    choices: choices ?? null,
    description: doc,
  }))
  const { name, args, doc } = command
  return { object: 'command', name, usage: usageWords(command).join(' '), description: doc, arguments: args, options }
}

export const firstSentence = (doc: string): string => doc.split(/(?<=\.) /)[0] ?? doc

/** Each option with its placeholder, and what it means. */
export const optionRows = (options: Command['options']): [usage: string, doc: string][] =>
  Object.entries(options).map(([name, { value, doc, choices }]) => [
    value === undefined ? `--${name}` : `--${name} ${value}`,
    choices && value !== choices.join('|') ? `${doc} One of: ${choices.join(', ')}.` : doc,
  ])
