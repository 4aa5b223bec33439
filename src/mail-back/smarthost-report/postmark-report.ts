import { objectOf, textOf, type JsonObject } from '../../platform/json-values.ts'
import { delivered, replyIn, textOrNull, undelivered, type DeliveryFate, type ReadEvent } from './smarthost-report.ts'

/** The name of our reference in the metadata of a message. */
const metadata = 'sterna-ref'

/** Reads a webhook of Postmark (developer documentation: "Webhooks"). */
export const readPostmarkEvent: ReadEvent = (event) => ({
  reference: textOf(objectOf(event['Metadata'])[metadata]),
  address: textOf(event['Email'] ?? event['Recipient']),
  said: saidBy(event),
})

function saidBy(event: JsonObject) {
  switch (event['RecordType']) {
    case 'Delivery':
      return delivered(replyIn(event['Details']))
    case 'Bounce':
      return bounce(event)
    case 'SpamComplaint':
      return { feedbackType: 'abuse' }
    case 'SubscriptionChange': {
      const isWish =
        event['SuppressSending'] === true && event['Origin'] === 'Recipient' && event['SuppressionReason'] === 'ManualSuppression'
      return isWish ? { feedbackType: 'opt-out' } : null
    }
    default:
      return null
  }
}

/** What a type of bounce means where there is no reply of the host. */
const statuses: Readonly<Record<string, string>> = {
  HardBounce: '5.1.1',
  BadEmailAddress: '5.1.3',
  ManuallyDeactivated: '5.7.1',
  Blocked: '5.7.1',
  SpamNotification: '5.7.1',
  VirusNotification: '5.7.1',
  DMARCPolicy: '5.7.1',
  DnsError: '5.4.4',
}

/** Types that say nothing about whether the mail arrived: what somebody or something answered. */
const answers = new Set(['AutoResponder', 'Subscribe', 'AddressChange', 'OpenRelayTest', 'ChallengeVerification', 'InboundError'])

/** Types that say that the address is bad. */
const hardTypes = new Set(['HardBounce', 'BadEmailAddress', 'DnsError'])

function bounce(event: JsonObject): DeliveryFate | { feedbackType: string } | null {
  const type = textOf(event['Type'])
  if (answers.has(type)) return null
  if (type === 'Unsubscribe') return { feedbackType: 'opt-out' }
  if (type === 'SpamComplaint') return { feedbackType: 'abuse' }
  // `smtp;550 5.1.1 No such user`, or Postmark's own words.
  const told = textOrNull(event['Details']) ?? textOrNull(event['Description']) ?? textOrNull(event['Name'])
  const status = replyIn(told) === null ? (statuses[type] ?? null) : null
  return { ...undelivered(type === 'Transient' ? 'delayed' : 'failed', told, status), isSoft: !hardTypes.has(type) }
}
