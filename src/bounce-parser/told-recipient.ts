import type { Judgement, Refusal } from './refusal.ts'
import { domainOf } from '../smtp/address.ts'
import { reportWords, saidAction } from './bounce-words.ts'
import { parseDiagnostic, type Diagnostic } from './diagnostic.ts'
import { longestReason, type ReportedRecipient } from './feedback.ts'
import { judgeRefusal } from './judge-refusal.ts'
import type { NamedRecipient } from './named-recipients.ts'
import { reportedPhase, type PhaseText } from './reported-phase.ts'

/** What a report says of all its recipients. */
interface ReportWords {
  text: string
  phase: PhaseText
  action: 'failed' | 'delayed' | 'delivered'
  /** True where it names one recipient only. */
  isOnly: boolean
}

/** How Sendmail tells of its own: `550 <a@b.example>... User unknown`; what others said has `<<<` before it. */
const ownLine = /(?:^|\| )[45]\d\d (?:[45]\.\d{1,3}\.\d{1,3} )?<?[^\s<>@]{1,64}@[^\s<>]{1,255}>?\.\.\. /
const remoteSystem = /(?:talking to|host|server|by|from)\s{1,3}([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8})/i

/** What a report tells of one recipient in words. What is said of nobody in particular is said of the only one. */
export function toldRecipient(named: NamedRecipient, report: ReportWords): ReportedRecipient {
  const own = understand(named, report)
  const isOfAll = report.isOnly && own.judgement.category === 'other'
  const { said, judgement } = isOfAll ? understand({ ...named, reason: `${named.reason}\n${report.text}` }, report) : own
  const action = saidAction(reportWords(named.reason)) === 'delivered' ? 'delivered' : report.action
  return {
    address: named.address,
    action,
    hard: judgement.hard && action === 'failed',
    status: said.enhancedCode,
    category: judgement.category,
    inWords: judgement.inWords,
    smtpCode: said.code,
    reason: said.text.slice(0, longestReason),
  }
}

/** What a reply says counts; what introduces it only where the reply says nothing. */
function understand({ address, reason }: NamedRecipient, { phase }: ReportWords): { said: Diagnostic; judgement: Judgement } {
  const said = parseDiagnostic(reason)
  const remoteHost = (remoteSystem.exec(reason)?.[1] ?? domainOf(address ?? '')).toLowerCase()
  const refusal: Refusal = { ...said, remoteHost, phase: reportedPhase(phase, said.text) }
  // No reply is quoted here: the reporting system found this out itself.
  if (said.code === null || (ownLine.test(said.text) && !/<<< |>>> |\bsaid\b/i.test(reason)))
    return { said, judgement: judgeRefusal(refusal, address, true) }
  const whole = judgeRefusal(refusal, address)
  const reply = judgeRefusal({ ...refusal, text: said.text.slice(said.text.indexOf(String(said.code))) }, address)
  return { said, judgement: reply.category === 'other' ? whole : reply }
}
