/** What came of a report, in the words of the API. Only the first three change anything. */
export const returnedMailResults = [
  'bounced',
  'complained',
  'unsubscribed',
  // Proven to be about a recipient of ours, but there is nothing to change.
  'delayed',
  'delivered',
  'autoreply',
  'no_report',
  'no_effect',
  'duplicate',
  // Proves nothing: it may be forged.
  'not_sent',
  'other_recipient',
  'no_token',
  'expired_token',
  'unknown_recipient',
  'source_not_believed',
  // Not about one recipient.
  'stored',
  'unknown_domain',
  'limit_reached',
  'forwarded',
  'not_forwarded',
  'not_understood',
] as const

export type ReturnedMailResult = (typeof returnedMailResults)[number]
