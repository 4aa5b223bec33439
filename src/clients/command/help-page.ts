import { commonOptions, meant, ownOptions, usageWords } from './command-line.ts'
import { commandGroups, commandsFor, operationWord } from './command-list.ts'
import { operationCommands } from './operation-commands.ts'
import { listObject, usageFault, type Command, type CommandOutput } from './command.ts'
import { definitions, wrapText, wrapWords } from './wrap-text.ts'

const introduction = [
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

const operationNotes =
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

/** docs/commands.md */
export function commandsPage(): string {
  return [
    '# Commands',
    '',
    '<!-- Generated from src/clients/command/ by `npm run docs`; edit those files. -->',
    '',
    'Run them as `sterna …` where the executable is installed, as `npx sterna …` in a checkout, or as `docker exec CONTAINER sterna …`',
    'for a running container.',
    '',
    ...introduction,
    '',
    'A list in JSON is `{"object": "list", "has_more": false, "data": […]}`; `has_more` says whether it goes on. An error is one line of',
    'JSON on standard error, with the members that errors of the API have: `statusCode`, `name`, `message`, and `errors` if there are',
    'several.',
    '',
    ...commandGroups.flatMap(({ title, commands: of }) => [`## ${title}`, '', ...of.flatMap(sectionOn)]),
    '## API',
    '',
    operationNotes,
    '',
    ...operationCommands().map((command) => `- \`${usageWords(command).join(' ').replace('sterna ', '')}\`: ${firstSentence(command.doc)}`),
    '',
    '## Every command',
    '',
    'Every command also takes:',
    '',
    ...optionRows(commonOptions).map(([usage, doc]) => `- \`${usage}\`: ${doc}`),
    '',
  ].join('\n')
}

function sectionOn(command: Command): string[] {
  const options = optionRows(ownOptions(command)).map(([usage, doc]) => `- \`${usage}\`: ${doc}`)
  const usage = wrapWords(usageWords(command), 4)
  return [`### ${command.name}`, '', '```', usage, '```', '', command.doc, '', ...options, ...(options.length > 0 ? [''] : [])]
}

const firstSentence = (doc: string): string => doc.split(/(?<=\.) /)[0] ?? doc

const optionRows = (options: Command['options']): [usage: string, doc: string][] =>
  Object.entries(options).map(([name, { value, doc, choices }]) => [
    value === undefined ? `--${name}` : `--${name} ${value}`,
    choices ? `${doc} One of: ${choices.join(', ')}.` : doc,
  ])
