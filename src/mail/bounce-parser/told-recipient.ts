import { domainOf } from '../../platform/smtp/address.ts'
import { parseDiagnostic } from './diagnostic.ts'
import type { ReportedRecipient } from './feedback.ts'
import type { NamedRecipient } from './named-recipients.ts'
import { refusedRecipient, type ReportedRefusal } from './refused-recipient.ts'
import { saidAction } from './report-phrases.ts'
import type { PhaseText } from './reported-phase.ts'
import type { Vocabulary } from './returned-message.ts'

/** What a bounce says about all its recipients. */
interface ReportWords {
  text: string
  phase: PhaseText
  action: 'failed' | 'delayed' | 'delivered'
  /** True if it names only one recipient. */
  isOnly: boolean
  vocabulary: Vocabulary
}

/** Sendmail's own words: `550 <a@b.example>... User unknown`. Other hosts' replies follow `<<<`. */
const ownLine = /(?:^|\| )[45]\d\d (?:[45]\.\d{1,3}\.\d{1,3} )?<?[^\s<>@]{1,64}@[^\s<>]{1,255}>?\.\.\. /

/** The text with a full stop at the end of each paragraph, because a phrase does not go beyond it. */
const paragraphsOf = (text: string): string => text.replace(/([^\s.;!?:：])[ \t]{0,80}(?=\n[ \t]{0,80}\n)/g, '$1.')

/** Introduces the words of another host: `host mx.example [192.0.2.1] said: …`. */
const remoteSystem = /(?:talking to|host|server|by|from)\s{1,3}([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8})/i

/** What a bounce's text says about one recipient. If it has only one, statements about nobody in particular count. */
export function toldRecipient(named: NamedRecipient, report: ReportWords): ReportedRecipient {
  const isDelivered = saidAction(report.vocabulary.phrases.saidIn(named.reason)) === 'delivered'
  const words = isDelivered ? { ...report, action: 'delivered' as const } : report
  const own = understand(named, words)
  if (!report.isOnly || own.category !== 'other') return own
  return understand({ ...named, reason: `${named.reason}\n${paragraphsOf(report.text)}` }, words)
}

/** The reply decides. Its introduction counts only if the reply says nothing. */
function understand({ address, reason }: NamedRecipient, { phase, action, vocabulary: { rules } }: ReportWords): ReportedRecipient {
  const said = parseDiagnostic(reason)
  // Without a quoted reply, it is the reporting system's own finding.
  const isFinding = said.code === null || (ownLine.test(said.text) && !/<<< |>>> |\bsaid\b/i.test(reason))
  const remoteHost = (remoteSystem.exec(reason)?.[1] ?? domainOf(address ?? '')).toLowerCase()
  const refusal: ReportedRefusal = { ...said, remoteHost, phase: phase.of(said.text), address, isFinding }
  // Words may ask to send the mail again, or announce another attempt for somebody else. A quoted 5yz is the end.
  const outcome = action === 'delayed' && said.code !== null && said.code >= 500 ? 'failed' : action
  const whole = refusedRecipient(refusal, outcome, rules)
  if (isFinding) return whole
  const text = said.text.slice(said.text.indexOf(String(said.code)))
  if (!/\p{L}{2}/u.test(text.replace(/\([^()]{0,200}\)/g, ''))) return whole
  const reply = refusedRecipient({ ...refusal, text }, outcome, rules)
  return reply.category === 'other' ? whole : { ...reply, reason: whole.reason }
}
