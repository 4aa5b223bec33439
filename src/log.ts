import { destination, pino, stdSerializers } from 'pino'

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/**
 * The log: JSON lines on standard error. Ids go into fields (`messageId`, `recipientId`, `attemptId`), an error into
 * the field `error`; the message is a constant sentence, so that equal lines can be counted.
 */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** A log whose lines all carry these fields. */
  child(fields: object): Log
}

const secretFields = ['authorization', 'password', 'pass', 'token', 'secret', 'signingSecret', 'key', 'privateKey']
/** API keys and signing secrets wherever they stand in a line, such as in the message of another library's error. */
const secretTexts = /(sterna_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{20,}/g

const withoutSecrets = (text: string): string => text.replace(secretTexts, '$1[removed]')

/** Writes lines of this level and above; `write` stands for standard error in tests. */
export function createLog(level: LogLevel, write: (line: string) => void = standardError()): Log {
  return pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: stdSerializers.err },
      redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[removed]' },
    },
    { write: (line: string) => write(withoutSecrets(line)) },
  )
}

/** Says nothing. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
}

/** Written at once, so that the last line before a crash is not lost. */
function standardError(): (line: string) => void {
  const stderr = destination({ dest: 2, sync: true })
  return (line) => stderr.write(line)
}
