import { parseArgs } from 'node:util'
import { nearestName } from '../config/nearest-name.ts'
import { messageOf, SternaError } from '../errors.ts'
import { commandChange } from './command-change.ts'
import { commands } from './command-list.ts'
import type { CommandServices } from './command-services.ts'
import type { Command, CommandInput } from './command.ts'
import type { CommandRequest, CommandResult } from './control-socket.ts'

export interface ParsedCommand {
  command: Command
  input: CommandInput
  /** The file given by `--config`. */
  configFile: string | undefined
}

/** Options that every command takes. */
export const commonOptions = {
  config: { type: 'string', value: 'FILE', doc: 'Configuration file, YAML or JSON.' },
  help: { type: 'boolean', doc: 'Prints the options of the command.' },
} as const

/**
 * Finds the command and parses its arguments and options. No arguments at all, or `--help`, mean the command `help`.
 * @throws SternaError `invalid_parameter`, worded for the terminal
 */
export function parseCommand({ argv, cwd }: CommandRequest): ParsedCommand {
  const [first = 'help', second = ''] = argv
  if (first === '--help' || first === '-h') return parseCommand({ argv: ['help'], cwd })
  if (first === '--version') return parseCommand({ argv: ['version'], cwd })
  const command = findCommand(first, second)
  const { values, positionals } = parseWords(command, argv.slice(command.name.split(' ').length))
  const { config, help, ...options } = values
  if (help === true) return parseCommand({ argv: ['help', ...command.name.split(' ')], cwd })
  const fault = faultOf(command, positionals, options)
  if (fault !== undefined) throw usageFault(`${fault} Usage: ${usageOf(command)}`)
  return { command, input: { args: positionals, options, cwd }, configFile: typeof config === 'string' ? config : undefined }
}

/** Runs a command with these services. Never throws: a failure becomes one line on standard error. */
export async function runCommand(request: CommandRequest, services: CommandServices): Promise<CommandResult> {
  try {
    const { command, input } = parseCommand(request)
    if (!command.run) throw usageFault(`"${command.name}" cannot run inside a server.`)
    const { stdout, stderr = '', exitCode = 0, objectId } = await command.run(input, services)
    if (!command.reads) await services.audit.record(commandChange(command, input, { accounts: services.accounts, objectId }))
    return { stdout, stderr, exitCode }
  } catch (error) {
    if (!(error instanceof SternaError)) services.log.error({ error }, 'a command failed')
    return failed(error)
  }
}

/** How to show a failure. A bad command line exits with 2, everything else with 1. */
export function failed(error: unknown): CommandResult {
  const message = messageOf(error)
  const faults = error instanceof SternaError ? (error.faults ?? []) : []
  // With a single fault, the message already says it.
  const more = faults.length > 1 ? faults : []
  const lines = [message, ...more.map(({ field, message }) => `  ${field}: ${message}`)]
  return { stdout: '', stderr: `sterna: ${lines.join('\n')}\n`, exitCode: error instanceof UsageError ? 2 : 1 }
}

/** `sterna key create --account ACCOUNT [--sandbox]` */
export function usageOf({ name, args, options }: Command): string {
  const words = Object.entries(options).map(([option, { value, required }]) => {
    const word = value === undefined ? `--${option}` : `--${option} ${value}`
    return required ? word : `[${word}]`
  })
  return ['sterna', name, ...args, ...words].join(' ')
}

class UsageError extends SternaError {
  constructor(message: string) {
    super('invalid_parameter', message)
  }
}

const usageFault = (message: string): SternaError => new UsageError(message)

function findCommand(first: string, second: string): Command {
  const found = commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first)
  if (found) return found
  const group = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name.slice(first.length + 1))
  if (group.length > 0) {
    const unknown = second === '' || second.startsWith('-') ? '' : `There is no command "${first} ${second}"; `
    throw usageFault(`${unknown}"sterna ${first}" needs one of: ${group.join(', ')}.`)
  }
  const near = nearestName(first, [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))])
  throw usageFault(`There is no command "${first}"${near ? `; did you mean "${near}"?` : '.'} "sterna help" lists them.`)
}

function parseWords(command: Command, words: string[]) {
  const all: Command['options'] = { ...command.options, ...commonOptions }
  const options = Object.fromEntries(Object.entries(all).map(([name, { type }]) => [name, { type }]))
  try {
    return parseArgs({ args: words, options, allowPositionals: true, strict: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error
    throw usageFault(`${messageOf(error).split('\n')[0]?.split('. ')[0]}. Usage: ${usageOf(command)}`)
  }
}

function faultOf(command: Command, args: readonly string[], options: CommandInput['options']): string | undefined {
  const many = command.args.some((name) => name.includes('…'))
  const needed = command.args.filter((name) => !name.startsWith('['))
  const missing = needed[args.length]
  if (missing !== undefined) return `${missing} is missing.`
  if (!many && args.length > command.args.length) return `"${args[command.args.length]}" is one argument too many.`
  const absent = Object.entries(command.options).find(([name, { required }]) => required && options[name] === undefined)
  return absent && `--${absent[0]} is missing.`
}
