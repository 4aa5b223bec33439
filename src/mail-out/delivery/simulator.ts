import { unconnectedAttempt, type Attempt, type Outcome } from './attempt.ts'

/** Recipients at this domain simulate a result without a byte leaving the machine, even with live keys. */
export const simulatorDomain = 'simulator.test'

/** What a simulated recipient does after delivery. */
export type Reaction = 'opened' | 'clicked' | 'complained' | 'unsubscribed'

/** How long `slow@simulator.test` takes, ms. */
const slowMs = 10_000

interface SimulatedOutcome {
  outcome: Outcome
  reactions: Reaction[]
  /** ms before the outcome is known */
  delayMs: number
}

const simulatedOutcome = (outcome: Outcome, reactions: Reaction[] = [], delayMs = 0): SimulatedOutcome => ({ outcome, reactions, delayMs })

const delivered: Outcome = { type: 'delivered', reply: { code: 250, enhancedStatus: '2.0.0', text: '2.0.0 Ok: simulated' } }
const unknownUser = '5.1.1 The mailbox does not exist (simulated)'
const mailboxFull = '5.2.2 The mailbox is full (simulated)'

const simulated: Record<string, SimulatedOutcome> = {
  bounced: simulatedOutcome({
    type: 'bounced',
    hard: true,
    category: 'invalid_recipient',
    reply: { code: 550, enhancedStatus: '5.1.1', text: unknownUser },
    reason: `550 ${unknownUser}`,
  }),
  softbounced: simulatedOutcome({
    type: 'bounced',
    hard: false,
    category: 'mailbox_full',
    reply: { code: 552, enhancedStatus: '5.2.2', text: mailboxFull },
    reason: `552 ${mailboxFull}`,
  }),
  opened: simulatedOutcome(delivered, ['opened']),
  clicked: simulatedOutcome(delivered, ['opened', 'clicked']),
  complained: simulatedOutcome(delivered, ['complained']),
  unsubscribed: simulatedOutcome(delivered, ['unsubscribed']),
  slow: simulatedOutcome(delivered, [], slowMs),
}

/** `suppressed@simulator.test` counts as if it were on the suppression list. */
export const isSimulatedSuppressed = (address: string): boolean => address.toLowerCase() === `suppressed@${simulatorDomain}`

/** What the simulator does with mail to this address; addresses without a behaviour of their own get delivered. */
export function simulatedOutcomeFor(address: string): SimulatedOutcome {
  const [localPart = '', domain = ''] = address.toLowerCase().split('@')
  const own = domain === simulatorDomain ? simulated[localPart.split('+')[0] ?? ''] : undefined
  return own ?? simulatedOutcome(delivered)
}

/** The attempt that the simulator made up. */
export const simulatedAttempt = (recipientId: string, { outcome, delayMs }: SimulatedOutcome): Attempt => ({
  ...unconnectedAttempt(recipientId, outcome),
  durationMs: delayMs,
  mxHost: simulatorDomain,
})
