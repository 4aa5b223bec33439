import { destination, levels, pino, stdSerializers } from 'pino'
import type { LogLevel } from './log-level.ts'

/**
 * The log: JSON lines on standard error. Ids go into fields (`messageId`, `recipientId`, `attemptId`), an error into the field `error`. The
 * message is constant, so that equal lines can be counted.
 */
export interface Log {
  /** The least level that is written. Other threads log through the main one, so a change applies to all. Absent: it cannot change. */
  level?: string
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

const secretFields = new Set(['authorization', 'password', 'pass', 'token', 'secret', 'signingSecret', 'key', 'privateKey'])
/** How deep to search for secret fields. */
const maxLevels = 3
/** API keys and signing secrets anywhere in a line, such as in another library's error message. */
const secretTexts = /(sterna_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{20,}/g

/** Pino's own `redact` takes four times as long as everything else about a line. */
function withoutSecretFields(fields: object, level = 1): Record<string, unknown> {
  const given = fields as Record<string, unknown>
  let copy: Record<string, unknown> | undefined
  for (const [name, value] of Object.entries(given)) {
    const shown = secretFields.has(name) ? '[removed]' : lookedThrough(value, level)
    if (shown !== value) (copy ??= { ...given })[name] = shown
  }
  return copy ?? given
}

const lookedThrough = (value: unknown, level: number): unknown =>
  typeof value === 'object' && value !== null && !(value instanceof Error) && level < maxLevels
    ? withoutSecretFields(value, level + 1)
    : value

const withoutSecrets = (text: string): string => text.replace(secretTexts, '$1[removed]')

const warnLevel = levels.values['warn'] ?? 0

/** Takes a line. `canWait`: it only informs, so it need not be written at once. */
type WriteLine = (line: string, canWait: boolean) => void

/** Writes lines of this level and above; the level may change later. `write` gets each line; default: to standard error. */
export function createLog(level: LogLevel, write: WriteLine = standardError()): Log & { level: string } {
  const stream = {
    // Pino then says the level of each line.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write: (line: string) => write(withoutSecrets(line), stream.lastLevel < warnLevel),
  }
  return pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }), log: withoutSecretFields },
      serializers: { error: (error: Error) => lookedThrough(stdSerializers.err(error), 1) },
    },
    stream,
  )
}

/** Discards everything. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
}

/** Lines that can wait do so for this long at most, ms, and until there are this many characters. */
const gatheredMs = 20
const gatheredLength = 32_768

/**
 * Writes lines to standard error, synchronously, so that the last warning before a crash is not lost. Lines that can wait are written together:
 * a busy server says what became of each recipient, and a call to write for each would be the larger part of that.
 */
export function standardError(): WriteLine {
  return gathered(destination({ dest: 2, sync: true }))
}

/** Nothing is left unwritten when the process exits by itself; a signal that nobody handles costs the last lines that can wait. */
export function gathered(to: { write(lines: string): unknown }): WriteLine {
  let lines = ''
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    process.off('exit', flush)
    const gatheredLines = lines
    lines = ''
    if (gatheredLines !== '') to.write(gatheredLines)
  }
  const wait = (): void => {
    timer = setTimeout(flush, gatheredMs).unref()
    process.on('exit', flush)
  }
  return (line, canWait) => {
    lines += line
    if (!canWait || lines.length >= gatheredLength) flush()
    else if (timer === undefined) wait()
  }
}
