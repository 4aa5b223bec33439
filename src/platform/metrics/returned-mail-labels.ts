/** What return-path addresses are for. */
export const returnPathPurposes = [
  'bounce',
  'complaint',
  'unsubscribe',
  // Of the smarthost, over HTTP.
  'smarthost_report',
  'dmarc_report',
  'tls_report',
  'postmaster',
  'abuse',
] as const

/**
 * What a returned message led to, in the words of the API. Only the first three change a recipient, and `delivered` if the smarthost
 * reports it.
 */
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
