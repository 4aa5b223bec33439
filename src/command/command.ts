import { SternaError } from '../errors.ts'
import { isoTimeOrNull } from '../iso-time.ts'
import type { CommandParts } from './command-parts.ts'

interface CommandOption {
  type: 'string' | 'boolean'
  /** What stands for the value in the help; strings only. */
  value?: string
  doc: string
  /** True where the command cannot do without it. */
  required?: boolean
}

/** What a user wrote after the name of a command. */
export interface CommandInput {
  /** As many as `args` asks for. */
  args: string[]
  options: Record<string, string | boolean | undefined>
  /** The directory that relative paths are meant from. */
  cwd: string
}

export interface CommandOutput {
  /** The result alone, so that it can be piped. */
  stdout: string
  /** What a person should know beside it. */
  stderr?: string
  /** The id of what it changed, for the audit log; not needed where that is the first argument. */
  objectId?: string
  /** 0 unless given. */
  exitCode?: number
}

/** One command: the parser, the help page and docs/commands.md are made from this declaration. */
export interface Command {
  /** `key create` */
  name: string
  /** `NAME`; optional ones in brackets. */
  args: readonly string[]
  options: Record<string, CommandOption>
  doc: string
  /** True where it changes nothing, so that the audit log need not tell of it. */
  reads?: true
  /**
   * Runs in the serving process where there is one, else in a process that has opened the store for itself. Fails
   * by throwing. Absent for commands that are not about the data of a running server: main.ts runs those.
   */
  run?(input: CommandInput, parts: CommandParts): Promise<CommandOutput>
}

/** Whose things a command is about. */
export const accountOption = { type: 'string', value: 'ACCOUNT', doc: 'Name or id of the account.', required: true } as const

/** The value of a string option, if it was given. */
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

export const argument = (input: CommandInput, place: number): string => input.args[place] ?? ''

/** Rows as text in columns, a line each; the first row is the heading. */
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

/** Made for one line of a terminal: whatever a remote server wrote cannot move the cursor or forge a line. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, ' ')

export const shownTime = (at: number | null): string => isoTimeOrNull(at) ?? '-'
