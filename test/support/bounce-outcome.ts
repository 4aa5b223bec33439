import { parseFeedback } from '../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../src/mail/bounce-vocabulary.ts'
import { matchFeedback } from '../../src/mail-back/feedback/match-feedback.ts'

/** What follows for a recipient. */
export type BounceOutcome = 'hard' | 'soft' | 'delayed' | 'nothing'

/** What follows where this mail comes to the bounce address of a delivered recipient, with the null reverse-path. */
export async function outcomeAtBounceAddress(mail: Buffer, forwardPath: string): Promise<BounceOutcome> {
  const reading = parseFeedback(await readReturnedMessage(mail, bounceVocabulary()), { forwardPath, isFromSystem: true })
  const recipient = { forwardPath, state: 'delivered' as const, isInHand: false, deliveredAt: 1, complainedAt: null }
  // The runner finds a token in our message where it comes back.
  const { reference, unsubscribe } = reading.original
  const consequence = matchFeedback(reading, recipient, reference !== null || unsubscribe !== null ? 'message' : 'envelope')
  if (consequence.type === 'bounced') return consequence.bounce.hard ? 'hard' : 'soft'
  return consequence.type === 'nothing' && consequence.result === 'delayed' ? 'delayed' : 'nothing'
}
