import { isInternational, parsePath } from '../../platform/smtp/address.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import { replyOf } from './smtp-refusal.ts'
import { readTransferParameters, submissionParameters, type AskedOptions, type Parameters } from './transfer-parameters.ts'

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
  /** Null: nothing. */
  asked: AskedOptions | null
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

const badParameters = (text: string): Reply => replyOf(501, '5.5.4', text)

/**
 * Parses a line `MAIL FROM:<…> …`, or says what is wrong with it. A parameter of the envelope never costs the mail: a value that cannot be
 * understood is ignored.
 * @param isSecure true over TLS, where REQUIRETLS is offered
 * @param submittedAt when a submitter sends it, epoch ms; null for anyone else: FUTURERELEASE, DELIVERBY and MT-PRIORITY are for submitters
 */
export function parseMailCommand(line: Uint8Array, isSecure: boolean, submittedAt: number | null): MailCommand | Reply {
  const parts = splitCommand(line, mailFrom)
  if (!parts) return replyOf(501, '5.1.7', 'Write MAIL FROM:<address> (RFC 5321 4.1.1)')
  const parameters = parseParameters(parts.parameters, knownInMail(isSecure, submittedAt !== null))
  if (!(parameters instanceof Map)) return parameters
  const size = parameters.get('SIZE') ?? ''
  const ret = parameters.get('RET') ?? ''
  const smtputf8 = parameters.has('SMTPUTF8')
  const parsed = parsePath(parts.path)
  if (!parsed.ok) return replyOf(553, '5.1.7', `The sender address cannot be used. ${parsed.fault}`)
  if (!smtputf8 && isInternational(parts.path)) return needsSmtputf8
  const asked = asksFor(parameters) ? readTransferParameters(parameters, submittedAt ?? 0) : null
  if (asked && 'code' in asked) return asked
  return {
    reversePath: parsed.address?.address ?? null,
    size: /^\d+$/.test(size) ? Number(size) : null,
    smtputf8,
    ret: /^(?:FULL|HDRS)$/i.test(ret) ? ret.toLowerCase() : null,
    envid: readXtext(parameters.get('ENVID'), 100),
    asked,
  }
}

/**
 * Parses a line `RCPT TO:<…> …` within the message that `mail` began, or says what is wrong with it. Parameters are read as those of MAIL.
 * @param postmaster the address for a bare `<Postmaster>`; absent if there is none (RFC 5321 4.1.1.3)
 */
export function parseRcptCommand(line: Uint8Array, mail: MailCommand, postmaster?: string): RcptCommand | Reply {
  const parts = splitCommand(line, rcptTo)
  if (!parts) return replyOf(501, '5.1.3', 'Write RCPT TO:<address> (RFC 5321 4.1.1)')
  const parameters = parseParameters(parts.parameters, ofRcpt)
  if (!(parameters instanceof Map)) return parameters
  const notify = readNotify(parameters.get('NOTIFY'))
  const orcpt = readOriginalRecipient(parameters.get('ORCPT'))
  if (postmaster !== undefined && /^(?:postmaster|<postmaster>)$/i.test(parts.path)) return { forwardPath: postmaster, notify, orcpt }
  const parsed = parsePath(parts.path)
  if (!parsed.ok) return replyOf(553, '5.1.3', `The recipient address cannot be used. ${parsed.fault}`)
  if (!parsed.address) return replyOf(553, '5.1.3', 'A recipient needs an address')
  if (!mail.smtputf8 && isInternational(parts.path)) return needsSmtputf8
  return { forwardPath: parsed.address.address, notify, orcpt }
}

const needsSmtputf8 = replyOf(553, '5.6.7', 'An address with characters beyond ASCII needs MAIL FROM with SMTPUTF8 (RFC 6531)')

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Devices leave out the angle brackets, which end at the first `>` outside a quoted local part. */
const commandForm = (verb: string): RegExp =>
  new RegExp(String.raw`^${verb}[ \t]*:[ \t]*(<(?:"(?:[^"\\]|\\.)*"|[^"<>])*>|[^<>\s]+)(.*)$`, 'is')
const mailFrom = commandForm(String.raw`MAIL[ \t]+FROM`)
const rcptTo = commandForm(String.raw`RCPT[ \t]+TO`)

function splitCommand(line: Uint8Array, form: RegExp): { path: string; parameters: string } | null {
  let text: string
  try {
    text = utf8.decode(line)
  } catch {
    return null
  }
  const found = form.exec(text)
  return found && { path: found[1] ?? '', parameters: found[2] ?? '' }
}

/** RFC 5321 4.1.2 */
// oxlint-disable-next-line no-control-regex
const parameterSyntax = /^([a-z0-9][a-z0-9-]*)(?:=([^\x00-\x20\x7f]*))?$/i

const ofMail = new Set(['SIZE', 'BODY', 'SMTPUTF8', 'RET', 'ENVID', 'AUTH'])
const ofSecureMail = new Set([...ofMail, 'REQUIRETLS'])
const ofSubmission = new Set([...ofMail, ...submissionParameters])
const ofSecureSubmission = new Set([...ofSecureMail, ...submissionParameters])
const ofRcpt = new Set(['NOTIFY', 'ORCPT'])
/** What asks for more than the envelope. Each may be given once. */
const once = new Set(['REQUIRETLS', ...submissionParameters])

function knownInMail(isSecure: boolean, isSubmitted: boolean): ReadonlySet<string> {
  if (isSubmitted) return isSecure ? ofSecureSubmission : ofSubmission
  return isSecure ? ofSecureMail : ofMail
}

function parseParameters(text: string, known: ReadonlySet<string>): Parameters | Reply {
  const parameters: Parameters = new Map()
  if (text === '') return parameters
  for (const word of text.split(/[ \t]/).filter((part) => part !== '')) {
    const parsed = parameterSyntax.exec(word)
    const name = parsed?.[1]?.toUpperCase()
    if (name === undefined) return badParameters('A parameter is a keyword, or a keyword and a value joined by =')
    if (!known.has(name)) return replyOf(555, '5.5.4', `The parameter ${name} is unknown`)
    if (once.has(name) && parameters.has(name)) return badParameters(`The parameter ${name} is given twice`)
    if (!parameters.has(name)) parameters.set(name, parsed?.[2] ?? null)
  }
  return parameters
}

/** Most mail asks for nothing. */
function asksFor(parameters: Parameters): boolean {
  for (const name of parameters.keys()) if (once.has(name)) return true
  return false
}

/** What is understood of a value of NOTIFY (RFC 3461 4.1); null, the default, if that is nothing. NEVER stands alone. */
function readNotify(text: string | null | undefined): string | null {
  if (!text) return null
  const words = text.toUpperCase().split(',')
  const events = [...new Set(words.filter((word) => /^(?:SUCCESS|FAILURE|DELAY)$/.test(word)))]
  return events.length > 0 ? events.join() : words.includes('NEVER') ? 'NEVER' : null
}

/**
 * A value as xtext (RFC 3461 4), also if it was not: hexadecimal digits in lower case, a `+` or `=` that stands for itself. Null if it is
 * empty or too long, or if what it says is not printable, which could break a line of a report.
 */
function readXtext(text: string | null | undefined, maxLength: number, allowed = /^[\x20-\x7e]+$/): string | null {
  if (!text) return null
  const said = text.replace(/\+([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  const xtext = said.replace(/[ +=]/g, (character) => `+${character.charCodeAt(0).toString(16).toUpperCase()}`)
  return allowed.test(said) && xtext.length <= maxLength ? xtext : null
}

/** RFC 3461 4.2, and RFC 6533 3 for the type `utf-8`; null if it is not understood. */
function readOriginalRecipient(text: string | null | undefined): string | null {
  if (!text) return null
  const [, type = '', address = ''] = /^([a-z0-9-]+);(.+)$/i.exec(text) ?? []
  // oxlint-disable-next-line no-control-regex
  const xtext = type.toLowerCase() === 'utf-8' ? readXtext(address, 500, /^[^\x00-\x1f\x7f-\x9f]+$/) : readXtext(address, 500)
  return xtext === null ? null : `${type};${xtext}`
}
