import { SternaError, type ErrorCode, type FieldFault } from '../../platform/errors.ts'
import { isoTimeOrNull } from '../../platform/iso-time.ts'
import type { CommandServices } from './command-services.ts'

export interface CommandOption {
  type: 'string' | 'boolean'
  /** The placeholder for the value in the help; strings only. */
  value?: string
  doc: string
  /** True if the command requires it. */
  required?: boolean
  /** The only values that it takes. */
  choices?: readonly string[]
}

/** What a user wrote after the command's name. */
export interface CommandInput {
  /** As many as `args` declares. */
  args: string[]
  options: Record<string, string | boolean | undefined>
  /** The directory that relative paths start from. */
  cwd: string
  /** What the command's `prepare` read where it was typed. */
  prepared?: unknown
  /** Whether the result is to be JSON; the command's `json` is shown then, and `stdout` is not. */
  isJson?: boolean
}

/** Whoever waits for a command. */
export interface CommandClient {
  /** Shows text before the command ends; resolves when there is room for more. */
  tell(text: { stdout?: string; stderr?: string }): Promise<void>
  /** Aborted when nobody waits any longer. */
  signal: AbortSignal
}

export interface CommandOutput<Text extends string | Buffer = string> {
  /** Only the result, so that it can be piped. Only a command that main.ts runs can print bytes. */
  stdout: Text
  /** The same result for `--json`: the API's object, if it has one. Undefined if `stdout` is lines of JSON in any case. */
  json: unknown
  /** Remarks for a person; not shown with `--json`. */
  stderr?: string
  /** The id of what it changed, for the audit log; not needed if the first argument is the id. */
  objectId?: string
  /** False if it turned out to change nothing, so the audit log leaves it out. */
  changed?: boolean
  /** Default: 0. */
  exitCode?: number
}

/**
 * What a command cannot do without:
 * - `nothing`: it needs no configuration either.
 * - `settings`: it reads and writes no data of this server.
 * - `directory`: the data directory. If there is no data yet, the command makes it.
 * - `any data`: the data of a server, whichever version wrote it last.
 * - `data`: the data of a server, with the schema of this version.
 */
type Need = 'nothing' | 'settings' | 'directory' | 'any data' | 'data'

/** One command. The parser, the help page and docs/commands.md are made from this declaration. */
export interface Command {
  /** `key create` */
  name: string
  /** `NAME`; optional arguments in brackets. */
  args: readonly string[]
  options: Record<string, CommandOption>
  doc: string
  /** What the arguments may be, if only certain words, by their names in `args`. */
  choices?: Readonly<Record<string, readonly string[]>>
  /** What to ask before it destroys something (null: nothing this time); then it also takes `--yes`, which answers the question. */
  asks?(input: CommandInput): string | null
  /** The flag with which it only shows what it would do, which a terminal shows before the question. */
  showsFirst?: string
  /**
   * Reads what only the process has in which the command was typed: its variables, and files that its user may read. The result must be
   * JSON; `run` gets it as `prepared`. Work that would hold up a serving process belongs here too.
   */
  prepare?(input: CommandInput, env: Readonly<Record<string, string | undefined>>): unknown
  /** Default: `data`, so that a command in the wrong place is refused, and does not make another server there. */
  needs?: Need | ((input: CommandInput) => Need)
  /** True if its result is advice for people: commands in it are written as they work where it is read. */
  advises?: true
  /** True if it records each of its changes in the audit log. */
  recordsItself?: true
  /** True if it changes nothing, so the audit log can leave it out. */
  reads?: boolean
  /**
   * Runs in the serving process if there is one, else in a process that has opened the store itself. Throws when it fails. Absent for
   * commands that do not need a server's data: main.ts runs those.
   */
  run?(input: CommandInput, services: CommandServices, client: CommandClient): Promise<CommandOutput>
}

export const needOf = ({ needs = 'data' }: Command, input: CommandInput): Need => (typeof needs === 'function' ? needs(input) : needs)

/** A command line that is wrong: it exits with 2. */
export class UsageError extends SternaError {
  constructor(message: string, { code = 'invalid_parameter', ...more }: { code?: ErrorCode; faults?: FieldFault[]; cause?: unknown } = {}) {
    super(code, message, more)
  }
}

export const usageFault = (message: string): SternaError => new UsageError(message)

/** The account that a command is about. */
export const accountOption = { type: 'string', value: 'ACCOUNT', doc: 'Name or id of the account.', required: true } as const

/** The value of a string option, if given. */
export function textOption(input: CommandInput, name: string): string | undefined {
  const value = input.options[name]
  return typeof value === 'string' ? value : undefined
}

/** The value of an option that the declaration requires. */
export function requiredOption(input: CommandInput, name: string): string {
  const value = textOption(input, name)
  if (value === undefined) throw new SternaError('missing_required_field', `--${name} is missing.`)
  return value
}

export const flagOption = (input: CommandInput, name: string): boolean => input.options[name] === true

/** A complete list as the API shows one. */
export const listObject = <T>(data: readonly T[]): { object: 'list'; has_more: boolean; data: readonly T[] } => ({
  object: 'list',
  has_more: false,
  data,
})

/** What the API answers when something is deleted. */
export const deletedObject = (object: string, id: string) => ({ object, id, deleted: true })

export const argument = (input: CommandInput, place: number): string => input.args[place] ?? ''

/** Rows as text in columns, one line each; the first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}

/** Makes a text safe for one line of a terminal: nothing that a remote server wrote can move the cursor or forge a line. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, ' ')

export const shownTime = (at: number | null): string => isoTimeOrNull(at) ?? '-'
