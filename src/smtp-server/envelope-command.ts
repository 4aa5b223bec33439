import { parsePath } from '../smtp/address.ts'
import type { Reply } from '../smtp/reply.ts'
import { replyOf } from './smtp-refusal.ts'

/** MAIL FROM with its parameters (RFC 5321 4.1.1.2). */
export interface MailCommand {
  /** Null for `<>`. */
  reversePath: string | null
  /** bytes, as announced (RFC 1870) */
  size: number | null
  /** RFC 6531 */
  smtputf8: boolean
  /** `full` or `hdrs` (RFC 3461) */
  ret: string | null
  /** xtext, as given (RFC 3461) */
  envid: string | null
}

/** RCPT TO with its parameters (RFC 5321 4.1.1.3). */
export interface RcptCommand {
  /** `local@domain`, domain in A-labels and lower case. */
  forwardPath: string
  /** `NEVER` or a list of `SUCCESS`, `FAILURE`, `DELAY` (RFC 3461) */
  notify: string | null
  /** Address type and xtext, as given (RFC 3461) */
  orcpt: string | null
}

type Parameters = Map<string, string | null>

const badParameters = (text: string): Reply => replyOf(501, '5.5.4', text)

/** Parses a line `MAIL FROM:<…> …`, or says what is wrong with it. */
export function parseMailCommand(line: Uint8Array): MailCommand | Reply {
  const parts = splitCommand(line, /^MAIL FROM: ?/i)
  if (!parts) return replyOf(501, '5.1.7', 'Write MAIL FROM:<address> (RFC 5321 4.1.1)')
  const parameters = parseParameters(parts.parameters, ['SIZE', 'BODY', 'SMTPUTF8', 'RET', 'ENVID', 'AUTH'])
  if (!(parameters instanceof Map)) return parameters
  const size = parameters.get('SIZE')
  const ret = parameters.get('RET')
  const envid = parameters.get('ENVID')
  if (size !== undefined && !/^\d{1,20}$/.test(size ?? '')) return badParameters('SIZE takes a number of bytes')
  if (parameters.has('BODY') && !/^(7BIT|8BITMIME)$/i.test(parameters.get('BODY') ?? '')) return badParameters('BODY is 7BIT or 8BITMIME')
  if (parameters.get('SMTPUTF8')) return badParameters('SMTPUTF8 takes no value')
  if (ret !== undefined && !/^(FULL|HDRS)$/i.test(ret ?? '')) return badParameters('RET is FULL or HDRS')
  if (envid !== undefined && !isXtext(envid, 100)) return badParameters('ENVID takes up to 100 characters of xtext (RFC 3461 4)')
  const smtputf8 = parameters.has('SMTPUTF8')
  const parsed = parsePath(parts.path)
  if (!parsed.ok) return replyOf(553, '5.1.7', `The sender address cannot be used. ${parsed.fault}`)
  if (!smtputf8 && isInternational(parts.path)) return needsSmtputf8
  return {
    reversePath: parsed.address?.address ?? null,
    size: size === undefined ? null : Number(size),
    smtputf8,
    ret: ret?.toLowerCase() ?? null,
    envid: envid ?? null,
  }
}

/**
 * Parses a line `RCPT TO:<…> …` within the message that `mail` began, or says what is wrong with it.
 * @param postmaster the address for a bare `<Postmaster>`; absent if there is none (RFC 5321 4.1.1.3)
 */
export function parseRcptCommand(line: Uint8Array, mail: MailCommand, postmaster?: string): RcptCommand | Reply {
  const parts = splitCommand(line, /^RCPT TO: ?/i)
  if (!parts) return replyOf(501, '5.1.3', 'Write RCPT TO:<address> (RFC 5321 4.1.1)')
  const parameters = parseParameters(parts.parameters, ['NOTIFY', 'ORCPT'])
  if (!(parameters instanceof Map)) return parameters
  const notify = parameters.get('NOTIFY')
  const orcpt = parameters.get('ORCPT')
  if (notify !== undefined && !/^(NEVER|(SUCCESS|FAILURE|DELAY)(,(SUCCESS|FAILURE|DELAY)){0,2})$/i.test(notify ?? '')) {
    return badParameters('NOTIFY is NEVER, or a list of SUCCESS, FAILURE and DELAY')
  }
  if (orcpt !== undefined && !isOriginalRecipient(orcpt))
    return badParameters('ORCPT is an address type, a semicolon and xtext (RFC 3461 4.2)')
  const delivery = { notify: notify?.toUpperCase() ?? null, orcpt: orcpt ?? null }
  if (postmaster !== undefined && /^<postmaster>$/i.test(parts.path)) return { forwardPath: postmaster, ...delivery }
  const parsed = parsePath(parts.path)
  if (!parsed.ok) return replyOf(553, '5.1.3', `The recipient address cannot be used. ${parsed.fault}`)
  if (!parsed.address) return replyOf(553, '5.1.3', 'A recipient needs an address')
  if (!mail.smtputf8 && isInternational(parts.path)) return needsSmtputf8
  return { forwardPath: parsed.address.address, ...delivery }
}

const needsSmtputf8 = replyOf(553, '5.6.7', 'An address with characters beyond ASCII needs MAIL FROM with SMTPUTF8 (RFC 6531)')

// oxlint-disable-next-line no-control-regex
const isInternational = (text: string): boolean => /[^\x00-\x7f]/.test(text)

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The angle brackets end at the first `>` outside a quoted local part. */
const pathThenParameters = /^(<(?:"(?:[^"\\]|\\.)*"|[^"<>])*>)(.*)$/s

function splitCommand(line: Uint8Array, verb: RegExp): { path: string; parameters: string } | null {
  let text: string
  try {
    text = utf8.decode(line)
  } catch {
    return null
  }
  const found = verb.test(text) ? pathThenParameters.exec(text.replace(verb, '')) : null
  return found ? { path: found[1] ?? '', parameters: found[2] ?? '' } : null
}

/** RFC 5321 4.1.2 */
// oxlint-disable-next-line no-control-regex
const parameterSyntax = /^([a-z0-9][a-z0-9-]*)(?:=([^\x00-\x20\x7f]+))?$/i

function parseParameters(text: string, known: string[]): Parameters | Reply {
  const parameters: Parameters = new Map()
  if (text.trim() !== '' && !text.startsWith(' ')) return badParameters('A parameter follows the address after a space')
  for (const word of text.split(' ').filter((part) => part !== '')) {
    const parsed = parameterSyntax.exec(word)
    const name = parsed?.[1]?.toUpperCase()
    if (name === undefined) return badParameters('A parameter is a keyword, or a keyword and a value joined by =')
    if (!known.includes(name)) return replyOf(555, '5.5.4', `The parameter ${name} is unknown`)
    if (parameters.has(name)) return badParameters(`The parameter ${name} may appear only once`)
    parameters.set(name, parsed?.[2] ?? null)
  }
  return parameters
}

/** RFC 3461 4: the decoded value must be printable, or it could break a line of a report. */
const isXtext = (text: string | null, maxLength: number): boolean =>
  text !== null && text.length <= maxLength && /^(?:[!-*,-<>-~]|\+(?:[2-6][0-9A-F]|7[0-9A-E]))+$/.test(text)

/** RFC 3461 4.2, and RFC 6533 3 for the type `utf-8`. */
function isOriginalRecipient(text: string | null): boolean {
  const [, type = '', address = ''] = /^([A-Za-z0-9-]+);(.+)$/.exec(text ?? '') ?? []
  if (type.toLowerCase() !== 'utf-8') return type !== '' && isXtext(address, 500)
  // oxlint-disable-next-line no-control-regex
  return address.length <= 500 && /^(?:[!-*,-<>-~]|[^\x00-\x9f]|\+[2-7][0-9A-F])+$/.test(address)
}
