import { parseArgs } from 'node:util'
import { nearestName } from '../../platform/config/nearest-name.ts'
import { errorTable } from '../../platform/error-table.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { idForm } from '../../platform/id.ts'
import { byCommand, type Change } from '../../senders/account/audit-log.ts'
import { commands, commandsFor, operationWord } from './command-list.ts'
import type { CommandServices } from './command-services.ts'
import { UsageError, usageFault, type Command, type CommandClient, type CommandInput, type CommandOutput } from './command.ts'
import type { CommandRequest, CommandResult } from './control-socket.ts'

export interface ParsedCommand {
  command: Command
  input: CommandInput
  /** The file given by `--config`. */
  configFile: string | undefined
  /** Whether `--yes` answers what the command asks. */
  isConfirmed: boolean
}

/** Options that every command takes. */
export const commonOptions = {
  config: { type: 'string', value: 'FILE', doc: 'Configuration file, YAML or JSON; default: the file that STERNA_CONFIG names.' },
  json: { type: 'boolean', doc: 'Prints JSON: the object that the API has for it, or one object per line. Errors are JSON too.' },
  help: { type: 'boolean', doc: 'Prints the options of the command.' },
} as const

const yesOption = { yes: { type: 'boolean', doc: 'Does not ask. Without a terminal it is required.' } } as const

/** The options that only this command takes. */
export const ownOptions = ({ options, asks }: Command): Command['options'] => (asks ? { ...options, ...yesOption } : options)

/**
 * Finds the command and parses its arguments and options. No arguments at all, or `--help`, mean the command `help`.
 * @throws SternaError `invalid_parameter`, worded for the terminal
 */
export function parseCommand({ argv, cwd, prepared }: CommandRequest): ParsedCommand {
  const [first = 'help', second = ''] = argv
  if (first === '--help' || first === '-h') return parseCommand({ argv: ['help', ...argv.slice(1)], cwd })
  if (first === '--version') return parseCommand({ argv: ['version', ...argv.slice(1)], cwd })
  const command = findCommand(first, second)
  const { values, positionals } = parseWords(command, argv.slice(command.name.split(' ').length))
  const { config, help, json, yes, ...options } = values
  const isJson = json === true
  if (help === true) return parseCommand({ argv: ['help', ...command.name.split(' '), ...(isJson ? ['--json'] : [])], cwd })
  const fault = faultOf(command, positionals, options)
  if (fault !== undefined) throw commandFault(fault, command)
  const input = { args: positionals, options, cwd, isJson, ...(prepared === undefined ? {} : { prepared }) }
  return { command, input, configFile: typeof config === 'string' ? config : undefined, isConfirmed: yes === true }
}

/** Whether a command line that may not be right asks for JSON. */
export const asksForJson = (argv: readonly string[]): boolean => argv.includes('--json')

/** For whom nothing is shown before the end. */
export const noClient: CommandClient = { tell: async () => {}, signal: new AbortController().signal }

/** Runs a command with these services. Never throws: a failure becomes one line on standard error. */
export async function runCommand(
  request: CommandRequest,
  services: CommandServices,
  client: CommandClient = noClient,
): Promise<CommandResult> {
  try {
    const { command, input } = parseCommand(request)
    if (!command.run) throw usageFault(`"${command.name}" cannot run inside a server.`)
    const output = await command.run(input, services, client)
    const { objectId, changed = true } = output
    if (!command.reads && !command.recordsItself && changed)
      await services.audit.record(changeBy(command, input, { accounts: services.accounts, objectId }))
    return resultOf(output, input)
  } catch (error) {
    if (!(error instanceof SternaError)) services.log.error({ error }, 'a command failed')
    return failed(error, asksForJson(request.argv))
  }
}

/** What the audit log records of a command: the names of options, never their values. */
function changeBy(
  { name, args }: Command,
  input: CommandInput,
  { accounts, objectId }: Pick<CommandServices, 'accounts'> & { objectId: string | undefined },
): Change {
  const [first = ''] = input.args
  const named = input.options['account'] ?? (args[0] === 'ACCOUNT' ? first : undefined)
  const account = typeof named === 'string' ? accounts.findAccount(named) : undefined
  return {
    ...byCommand,
    accountId: account?.id ?? null,
    operation: name,
    objectId: objectId ?? (idForm.test(first) ? first : null),
    fields: Object.keys(input.options).filter((option) => option !== 'account'),
  }
}

/** What is shown of a command's output. */
export function resultOf<Text extends string | Buffer>(
  { stdout, json, stderr = '', exitCode = 0 }: CommandOutput<Text>,
  { isJson }: CommandInput,
): CommandResult<Text | string> {
  return !isJson || json === undefined
    ? { stdout, stderr, exitCode }
    : { stdout: `${JSON.stringify(json, null, 2)}\n`, stderr: '', exitCode }
}

/** How to show a failure: in words, or as one line of JSON. A bad command line exits with 2, everything else with 1. */
export function failed(error: unknown, isJson: boolean): CommandResult {
  const exitCode = error instanceof UsageError ? 2 : 1
  return { stdout: '', stderr: isJson ? `${JSON.stringify(errorObject(error))}\n` : inWords(error), exitCode }
}

function inWords(error: unknown): string {
  const faults = error instanceof SternaError ? (error.faults ?? []) : []
  // With a single fault, the message already says it.
  const more = faults.length > 1 ? faults : []
  return `sterna: ${[messageOf(error), ...more.map(({ field, message }) => `  ${field}: ${message}`)].join('\n')}\n`
}

/** The members that errors of the API have. */
function errorObject(error: unknown) {
  const name = error instanceof SternaError ? error.code : 'internal_server_error'
  const faults = error instanceof SternaError ? error.faults : undefined
  const { status } = errorTable[name]
  return { object: 'error', statusCode: status, name, message: messageOf(error), ...(faults === undefined ? {} : { errors: faults }) }
}

/** `sterna key create --account ACCOUNT [--sandbox]`, as words that belong together. */
export function usageWords(command: Command): string[] {
  const words = Object.entries(ownOptions(command)).map(([option, { value, required }]) => {
    const word = value === undefined ? `--${option}` : `--${option} ${value}`
    return required ? word : `[${word}]`
  })
  return [`sterna ${command.name}`, ...command.args, ...words]
}

/** Characters of a usage that still fits into an error of one line. */
const shortUsage = 100

function commandFault(fault: string, command: Command): SternaError {
  const usage = usageWords(command).join(' ')
  return usageFault(usage.length <= shortUsage ? `${fault} Usage: ${usage}` : `${fault} "sterna help ${command.name}" explains it.`)
}

function findCommand(first: string, second: string): Command {
  const among = commandsFor(first)
  const found = among.find(({ name }) => name === `${first} ${second}`) ?? among.find(({ name }) => name === first)
  if (found) return found
  const group = among.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name.slice(first.length + 1))
  if (group.length > 0) {
    const needed = first === operationWord ? '"sterna help api" lists them.' : `"sterna ${first}" needs one of: ${group.join(', ')}.`
    if (second === '' || second.startsWith('-')) throw usageFault(first === operationWord ? `OPERATION is missing. ${needed}` : needed)
    throw usageFault(`There is no command "${first} ${second}"${meant(second, group)} ${needed}`)
  }
  const names = [...new Set([...commands.map(({ name }) => name.split(' ')[0] ?? ''), operationWord])]
  throw usageFault(`There is no command "${first}"${meant(first, names)} "sterna help" lists them.`)
}

/** The end of a sentence about a word that is unknown. */
export function meant(mistyped: string, names: readonly string[], prefix = ''): string {
  const near = nearestName(mistyped, names)
  return near === undefined ? '.' : `; did you mean "${prefix}${near}"?`
}

function parseWords(command: Command, words: string[]) {
  const all: Command['options'] = { ...ownOptions(command), ...commonOptions }
  const options = Object.fromEntries(Object.entries(all).map(([name, { type }]) => [name, { type }]))
  try {
    return parseArgs({ args: words, options, allowPositionals: true, allowNegative: true, strict: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error
    const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' && /'-+([^']*)'/.exec(messageOf(error))?.[1]
    if (!unknown) throw commandFault(`${messageOf(error).split('\n')[0]?.split('. ')[0]}.`, command)
    throw commandFault(`There is no option "--${unknown}"${meant(unknown, Object.keys(all), '--')}`, command)
  }
}

function faultOf(command: Command, args: readonly string[], options: CommandInput['options']): string | undefined {
  const many = command.args.some((name) => name.includes('…'))
  const needed = command.args.filter((name) => !name.startsWith('['))
  const missing = needed[args.length]
  if (missing !== undefined) return `${missing} is missing.`
  if (!many && args.length > command.args.length) return `"${args[command.args.length]}" is one argument too many.`
  const absent = Object.entries(command.options).find(([name, { required }]) => required && options[name] === undefined)
  if (absent) return `--${absent[0]} is missing.`
  const words: [name: string, choices: readonly string[] | undefined, given: string | boolean | undefined][] = [
    ...command.args.map((name, place) => [name, command.choices?.[name], args[place]] as (typeof words)[number]),
    ...Object.entries(command.options).map(([name, { choices }]) => [`--${name}`, choices, options[name]] as (typeof words)[number]),
  ]
  for (const [name, choices, given] of words)
    if (choices && typeof given === 'string' && !choices.includes(given)) return notAChoice(name, given, choices)
  return undefined
}

const notAChoice = (name: string, given: string, choices: readonly string[]): string =>
  `${name} is "${given}"${meant(given, choices)} It must be one of: ${choices.join(', ')}.`
