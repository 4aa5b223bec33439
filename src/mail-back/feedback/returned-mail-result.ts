/** What a returned message led to, in the words of the API. Only the first three change a recipient. */
export const returnedMailResults = [
  'bounced',
  'complained',
  'unsubscribed',
  // Proved to be about a recipient of ours, but nothing changes.
  'delayed',
  'delivered',
  'autoreply',
  'no_report',
  'no_effect',
  'duplicate',
  // No proof: it may be forged.
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
