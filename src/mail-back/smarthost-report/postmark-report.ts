import { delivered, objectOf, textOf, textOrNull, type DeliveryFate, type ReadEvent, type ReportJson } from './smarthost-report.ts'

/** The name of our reference in the metadata of a message. */
const metadata = 'sterna-ref'

/** Reads a webhook of Postmark (developer documentation: "Webhooks"). */
export const readPostmarkEvent: ReadEvent = (event) => {
  const reference = textOf(objectOf(event['Metadata'])[metadata])
  const said = saidBy(event)
  return reference === '' || said === null ? null : { reference, address: textOf(event['Email'] ?? event['Recipient']), said }
}

function saidBy(event: ReportJson) {
  switch (event['RecordType']) {
    case 'Delivery':
      return delivered(replyIn(textOf(event['Details'])))
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

/** What a type of bounce means where the host's reply has no code. */
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

function bounce(event: ReportJson): DeliveryFate | { feedbackType: string } | null {
  const type = textOf(event['Type'])
  if (answers.has(type)) return null
  if (type === 'Unsubscribe') return { feedbackType: 'opt-out' }
  if (type === 'SpamComplaint') return { feedbackType: 'abuse' }
  const reply = replyIn(textOf(event['Details']))
  const words = textOrNull(event['Details']) ?? textOrNull(event['Description']) ?? textOrNull(event['Name'])
  const action = type === 'Transient' ? 'delayed' : 'failed'
  const known = statuses[type] ?? (action === 'delayed' ? '4.0.0' : '5.0.0')
  return { action, status: reply === null ? known : null, reply, words: reply === null ? words : null, isSoft: !hardTypes.has(type) }
}

/** `smtp;550 5.1.1 No such user`; some details are Postmark's own words. */
const replyIn = (details: string): string | null => /^(?:smtp;\s*)?([245]\d\d[ -].*)$/s.exec(details)?.[1] ?? null
