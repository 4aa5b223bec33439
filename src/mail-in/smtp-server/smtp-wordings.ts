import type { Reply } from '../../platform/smtp/reply.ts'
import { replyOf } from './smtp-refusal.ts'

export const startTlsFirst = replyOf(
  530,
  '5.7.0',
  'Must issue a STARTTLS command first, an API key is not accepted over an unencrypted connection',
)
export const logInFirst = replyOf(530, '5.7.0', 'Authentication required: log in with an API key as the password')

/** The password is the key, so LOGIN's user name says nothing; the library refuses an empty one, and one with control characters. */
export const anyName = Buffer.from(Buffer.from('any').toString('base64'))
export const isLogin = /^AUTH\s+LOGIN\s*$/i

export function withAnyName(command: Buffer): Buffer {
  const [, start] = /^(AUTH\s+LOGIN\s+)\S+\s*$/i.exec(command.toString('latin1')) ?? []
  return start === undefined ? command : Buffer.concat([Buffer.from(start), anyName])
}

/** EHLO or HELO with one name: some clients give none, or a computer's name with a space in it. */
export function greetingOf(command: Buffer): Buffer {
  const [verb, name = 'unknown'] = command.toString('latin1').trim().split(/\s+/)
  return Buffer.from(`${verb} ${name}`, 'latin1')
}

/** A reply's text as it is on the line, after the code. */
export const textOf = ({ enhancedStatus, text }: Reply): string => (enhancedStatus === null ? text : `${enhancedStatus} ${text}`)

/** What we say in place of a text of the library; null where that is right. @param loginFirst what is asked of a client first */
export function ourWords(code: number, text: string, loginFirst: () => Reply): string | null {
  if (code === 530) return textOf(loginFirst())
  if (code !== 421) return null
  if (text.startsWith('Server shutting down')) return '4.3.2 Shutting down, try again in a moment'
  return text.startsWith('Timeout') ? '4.4.2 Nothing heard for too long, closing the connection' : `4.7.0 ${text.replace(/^Error: /, '')}`
}
