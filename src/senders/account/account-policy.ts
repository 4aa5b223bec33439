import { policy, type OwnPolicyValues, type PolicyField, type PolicyKind, type PolicyValues } from './policy.ts'

const field =
  <K extends PolicyKind>(kind: K) =>
  <const N extends string>(name: N, max: number, rest: Pick<PolicyField, 'doc' | 'setting'>): PolicyField<K, N> => ({
    kind,
    name,
    max,
    ...rest,
  })
const [flag, count, limit, duration] = [field('flag'), field('count'), field('limit'), field('duration')]
const [durations, recipientTls] = [field('durations'), field('recipientTls')]

const day = 86_400_000
const tenYears = 3650 * day

/** How many recipients may be mailed. Domains may have a quota of their own. */
export const mailQuota = policy({
  name: 'mail_quota',
  path: '/quota',
  fields: {
    day: limit('quota.day', 1_000_000_000, { doc: 'Recipients per day, in UTC, or `unlimited`.', setting: 'quotas.daily' }),
    month: limit('quota.month', 1_000_000_000, { doc: 'Recipients per month, or `unlimited`.', setting: 'quotas.monthly' }),
  },
  resource: null,
  standard: ({ quotas }, plan = '') => ({ day: quotas.daily[plan] ?? 'unlimited', month: quotas.monthly[plan] ?? 'unlimited' }),
})
export type OwnQuota = OwnPolicyValues<typeof mailQuota>

/** What suppresses an address. */
export const suppressionPolicy = policy({
  name: 'suppression_policy',
  path: '/suppression-policy',
  fields: {
    hardBounces: flag('suppression_policy.hard_bounces', 1, {
      doc: 'Whether a hard bounce suppresses its address, and a second soft bounce on another day if its wording says the address is unknown.',
      setting: 'suppression.hard_bounces',
    }),
    complaints: flag('suppression_policy.complaints', 1, {
      doc: 'Whether a complaint suppresses its address.',
      setting: 'suppression.complaints',
    }),
    softBounces: count('suppression_policy.soft_bounces', 1000, {
      doc: 'How many soft bounces without a delivery between them suppress an address; 0: never.',
      setting: 'suppression.soft_bounces',
    }),
    expiry: duration('suppression_policy.expiry', tenYears, {
      doc: 'How long a suppression after a bounce lasts; 0: until it is removed.',
      setting: 'suppression.expiry',
    }),
  },
  resource: {
    schema: 'SuppressionPolicy',
    about: 'what puts an address on the suppression list of an account',
    applies: 'Applies from then on; existing entries stay as they are.',
    example: { softBounces: 5, expiry: 90 * day },
  },
  standard: ({ suppression }) => suppression,
})
export type SuppressionPolicy = PolicyValues<typeof suppressionPolicy>

/** Delivery notices (RFC 3464) to those who submit over SMTP. They cover what happens from when they were turned on. */
export const deliveryNotices = policy({
  name: 'delivery_notices',
  path: '',
  fields: {
    wanted: flag('delivery_notices', 1, {
      doc: 'Whether those who submit over SMTP get delivery notices by mail.',
      setting: null,
    }),
  },
  resource: null,
  standard: () => ({ wanted: false }),
})

/** When a recipient is tried again. */
export const retrySchedule = policy({
  name: 'retry_schedule',
  path: '/retry-schedule',
  fields: {
    delays: durations('retry_schedule.delays', 30 * day, {
      doc: 'The delays between attempts after a temporary failure; the last one repeats. An email is given up when it expires, whatever they are.',
      setting: 'delivery.retry_schedule',
    }),
  },
  resource: {
    schema: 'RetrySchedule',
    about: 'when mail of an account is tried again after a temporary failure',
    applies: 'Applies from the next attempt on; what waits for one keeps its time.',
    example: { delays: [60_000, 300_000, 1_800_000, 7_200_000] },
  },
  standard: ({ delivery }) => ({ delays: delivery.retrySchedule }),
})

/** What TLS is required for mail to some domains. */
export const recipientTlsPolicy = policy({
  name: 'recipient_tls',
  path: '/recipient-tls',
  fields: {
    recipientTls: recipientTls('recipient_tls.domains', 1000, {
      doc:
        'The TLS required for mail to a domain: `require` (encrypted, whatever the certificate), `verify` (with a certificate valid for the MX ' +
        'host), `dane` (with a certificate that TLSA records of the host prove) or `opportunistic`. `.example.com` is for all names below it.',
      setting: 'delivery.recipient_tls',
    }),
  },
  resource: {
    schema: 'RecipientTls',
    about: 'what TLS is required for mail of an account to some domains',
    applies: 'Applies from the next attempt on. Mail waits if no host fulfils it, and its bounce says so.',
    example: { recipientTls: { 'bank.example': 'verify' } },
  },
  standard: ({ delivery }) => delivery,
})

/** How much mail goes ahead of others. */
export const urgentMailPolicy = policy({
  name: 'urgent_mail',
  path: '/urgent-mail',
  fields: {
    perMinute: count('urgent_mail.per_minute', 1_000_000, {
      doc: 'How many recipients a minute get mail of high priority. More of it goes as usual mail, and the answer says so. 0: none.',
      setting: 'quotas.urgent_per_minute',
    }),
  },
  resource: {
    schema: 'UrgentMail',
    about: 'how much mail of an account goes ahead of that of others',
    applies: 'Applies from then on; what waits keeps its priority.',
    example: { perMinute: 600 },
  },
  standard: ({ quotas }) => ({ perMinute: quotas.urgentPerMinute }),
})

/** When the server slows or suspends an account by itself. */
export const harmLimits = policy({
  name: 'harm_limits',
  path: '/harm-limits',
  fields: {
    bouncesSlow: count('harm_limits.bounces_slow', 1000, {
      doc: 'Hard bounces per thousand recipients in 24 hours at which the account is slowed. 0: no limit.',
      setting: 'harm.bounces_slow',
    }),
    bouncesSuspend: count('harm_limits.bounces_suspend', 1000, {
      doc: 'Hard bounces per thousand recipients in 24 hours at which the account is suspended. 0: no limit.',
      setting: 'harm.bounces_suspend',
    }),
    bouncesFrom: count('harm_limits.bounces_from', 1_000_000, {
      doc: 'Hard bounces in 24 hours below which neither of these limits applies.',
      setting: 'harm.bounces_from',
    }),
    complaintsSlow: count('harm_limits.complaints_slow', 1000, {
      doc: 'Complaints per thousand recipients in 24 hours at which the account is slowed. 0: no limit.',
      setting: 'harm.complaints_slow',
    }),
    complaintsSuspend: count('harm_limits.complaints_suspend', 1000, {
      doc: 'Complaints per thousand recipients in 24 hours at which the account is suspended. 0: no limit.',
      setting: 'harm.complaints_suspend',
    }),
    complaintsFrom: count('harm_limits.complaints_from', 1_000_000, {
      doc: 'Complaints in 24 hours below which neither of these limits applies.',
      setting: 'harm.complaints_from',
    }),
    slowedPerMinute: count('harm_limits.slowed_per_minute', 1_000_000, {
      doc: 'How many recipients a minute a slowed account may mail.',
      setting: 'harm.slowed_per_minute',
    }),
  },
  resource: {
    schema: 'HarmLimits',
    about: 'at how many hard bounces and complaints an account is slowed or suspended',
    applies: 'Applies from then on; an account that is already slowed or suspended stays so.',
    example: { bouncesSuspend: 200 },
  },
  standard: ({ harm }) => harm,
})
export type HarmLimits = PolicyValues<typeof harmLimits>

/** Everything that may differ from account to account. */
export const accountPolicies = [
  mailQuota,
  suppressionPolicy,
  deliveryNotices,
  retrySchedule,
  recipientTlsPolicy,
  urgentMailPolicy,
  harmLimits,
] as const

type FieldsOf<P> = P extends { fields: infer F } ? F[keyof F] : never
export type PolicyFieldName = FieldsOf<(typeof accountPolicies)[number]> extends { name: infer N } ? N : never
