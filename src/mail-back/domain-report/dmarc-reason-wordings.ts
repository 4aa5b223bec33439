import type { Wording } from '../../platform/wording.ts'

/** What the advice on a domain's DMARC policy rests on. */
export const dmarcReasonWordings = {
  record_missing: { what: 'The domain has no DMARC record, so nobody reports on it, and large receivers distrust its mail.' },
  record_several: { what: 'The domain has several DMARC records, so receivers ignore them all. Keep one.' },
  record_quoted: {
    what: 'The DMARC record has quotation marks or backslashes in its value, so receivers do not see it. Enter it in the DNS panel without them.',
  },
  record_invalid: {
    what: 'The DMARC record has neither a valid policy (p=) nor an address for reports (rua=), so it has no effect.',
  },
  own_mail_fails: {
    what: '{failed} of {messages} messages from this server did not pass. Check the DKIM and SPF records of the domain.',
  },
  strictest: { what: 'The policy is reject for all mail, which is the strictest.' },
  few_days: { what: 'The reports cover {days} of the required {required} days.' },
  few_messages: { what: 'They cover {messages} of the required {required} messages.' },
  too_little_passed: { what: '{passed} % of the mail passed; {required} % is required.' },
  sources_to_fix: {
    what: 'Where these sources send for you, have them sign with DKIM for the domain, or add them to its SPF record. Where they do not, a stricter policy is what stops them.',
  },
  enough_passed: { what: '{passed} % of {messages} messages in {days} days passed, so the policy can be {policy}.' },
  reports_unproven: {
    what: 'Reports are unproven, and may miss rarely sent mail. Make sure that nobody else sends for the domain.',
  },
} as const satisfies Record<string, Wording>
