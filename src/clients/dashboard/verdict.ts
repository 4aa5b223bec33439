/** What the overview knows of the mail of a period and of the server. */
export interface MailFacts {
  /** Recipients. */
  sent: number
  delivered: number
  bounced: number
  failed: number
  /** The same in the period before; null where nothing came to its end. */
  before: { delivered: number; bounced: number; failed: number } | null
  /** Whether the account has ever sent anything. */
  hasSent: boolean
  /** The destinations that make mail wait, as far as they are known. */
  waitingFor: string[]
  /** The checks of this server that fail. */
  failedChecks: string[]
  /** Verified domains that lost a record. */
  lostDomains: string[]
}

/** The heading of the overview: a name, and what it is about. */
export type Verdict =
  | { name: 'nothingSent' | 'nothingInPeriod' | 'blocked' | 'nothingOut' | 'allBounced' | 'mayNotGetOut' | 'someWaits' }
  | { name: 'checkFails' | 'gettingOut' }
  | { name: 'manyBounce'; share: number }
  | { name: 'oneWaits' | 'domainLost'; about: string }

/** Without them no mail leaves. */
const wayOut = new Set(['port_25', 'resolver'])
/** Below it, mail that waits is nothing unusual: some servers take no mail from strangers at the first try. */
const usualWaiting = 0.05
/** Above it, providers begin to doubt the sender. */
const harmfulBounceRate = 0.05
/** Lists in good order stay below it. */
const usualBounceRate = 0.02
/** So few may be chance. */
const few = 3

type Ended = Pick<MailFacts, 'delivered' | 'bounced' | 'failed'>

const lostOf = ({ bounced, failed }: Ended): number => bounced + failed
const endedOf = (mail: Ended): number => mail.delivered + lostOf(mail)

/** Of what came to its end, the share that did not arrive. */
const bounceShare = (mail: Ended): number => (endedOf(mail) === 0 ? 0 : lostOf(mail) / endedOf(mail))

/** Weighs bounces, waiting mail, the checks of this server and its domains; the worst counts. */
export function verdictOf(facts: MailFacts): Verdict {
  const { sent, delivered, hasSent, failedChecks, lostDomains } = facts
  const isCut = failedChecks.some((check) => wayOut.has(check))
  if (isCut && delivered === 0) return { name: 'blocked' }
  if (sent === 0 && endedOf(facts) === 0) return { name: hasSent ? 'nothingInPeriod' : 'nothingSent' }
  const waiting = Math.max(0, sent - endedOf(facts))
  if (delivered === 0) return waiting > 0 && waiting >= lostOf(facts) ? standstill(facts, waiting) : { name: 'allBounced' }
  if (isCut) return { name: 'mayNotGetOut' }
  if (isHarmful(facts)) return { name: 'manyBounce', share: bounceShare(facts) }
  if (lostDomains[0] !== undefined) return { name: 'domainLost', about: lostDomains[0] }
  if (failedChecks.length > 0) return { name: 'checkFails' }
  if (waiting / sent > usualWaiting) return delay(facts)
  return { name: 'gettingOut' }
}

/** Nothing was delivered: mail to one host alone says nothing about the others, and what is new may only have to wait. */
function standstill(facts: MailFacts, waiting: number): Verdict {
  if (facts.waitingFor.length === 1) return delay(facts)
  return { name: waiting <= few ? 'someWaits' : 'nothingOut' }
}

const delay = ({ waitingFor: [first, ...others] }: MailFacts): Verdict =>
  first === undefined || others.length > 0 ? { name: 'someWaits' } : { name: 'oneWaits', about: first }

const isHarmful = (facts: Ended): boolean => bounceShare(facts) >= 0.5 || (lostOf(facts) >= few && bounceShare(facts) > harmfulBounceRate)

/** Bounces that somebody should look at: too many for providers, or twice as many as before. Null if there are none. */
export function bounceConcern(facts: MailFacts): { tone: 'bad' | 'wait'; share: number; before: number | null } | null {
  const share = bounceShare(facts)
  const before = facts.before && bounceShare(facts.before)
  if (lostOf(facts) < few) return null
  if (share > harmfulBounceRate) return { tone: 'bad', share, before }
  const hasRisen = before !== null && share > usualBounceRate && share >= 2 * before
  return hasRisen ? { tone: 'wait', share, before } : null
}
