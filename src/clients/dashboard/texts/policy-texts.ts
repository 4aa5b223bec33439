import type { PolicyFieldName } from '../../../senders/account/account-policy.ts'

interface PolicyTexts {
  /** By the names of the policies. */
  headings: Record<string, string>
  /** What each value is, and what to know about it. */
  fields: Record<PolicyFieldName, [label: string, hint?: string]>
}

const en: PolicyTexts = {
  headings: {
    mail_quota: 'Mail quota',
    suppression_policy: 'What suppresses an address',
    delivery_notices: 'Delivery notices',
    retry_schedule: 'Retry schedule',
    recipient_tls: 'TLS by recipient domain',
    urgent_mail: 'Urgent mail',
    harm_limits: 'Bounces and complaints',
  },
  fields: {
    'quota.day': ['Recipients a day', 'A number, or “unlimited”. The day is that of UTC.'],
    'quota.month': ['Recipients a month', 'A number, or “unlimited”.'],
    'suppression_policy.hard_bounces': ['Hard bounces suppress'],
    'suppression_policy.complaints': ['Complaints suppress'],
    'suppression_policy.soft_bounces': ['Soft bounces that suppress', 'In a row, without a delivery between them. 0: never.'],
    'suppression_policy.expiry': ['A suppression after a bounce lasts', 'Like 90d or 12h. 0: until somebody removes it.'],
    delivery_notices: ['Submitters over SMTP get delivery notices by mail'],
    'retry_schedule.delays': [
      'Waits between attempts',
      'After a temporary failure, like 1m, 5m, 1h; the last one repeats. An email is given up when it expires, whatever they are.',
    ],
    'recipient_tls.domains': [
      'Required TLS',
      'Like bank.example=verify, .partner.example=require. “require”: encrypted; “verify”: with a valid certificate too; “dane”: with one that TLSA records prove. Mail waits otherwise. “none”: no domain.',
    ],
    'urgent_mail.per_minute': [
      'Urgent recipients a minute',
      'Mail of high priority goes ahead of all other mail; more than this goes as usual. 0: none.',
    ],
    'harm_limits.bounces_slow': ['Hard bounces before slowing', 'Per thousand recipients in 24 hours. 0: no limit.'],
    'harm_limits.bounces_suspend': ['Hard bounces before suspension', 'Per thousand recipients in 24 hours. 0: no limit.'],
    'harm_limits.bounces_from': ['Fewest hard bounces', 'Fewer in 24 hours have no effect.'],
    'harm_limits.complaints_slow': ['Complaints before slowing', 'Per thousand recipients in 24 hours. 0: no limit.'],
    'harm_limits.complaints_suspend': ['Complaints before suspension', 'Per thousand recipients in 24 hours. 0: no limit.'],
    'harm_limits.complaints_from': ['Fewest complaints', 'Fewer in 24 hours have no effect.'],
    'harm_limits.slowed_per_minute': ['Recipients a minute while slowed', 'More are refused until the next minute.'],
  },
}

const de: PolicyTexts = {
  headings: {
    mail_quota: 'Kontingent',
    suppression_policy: 'Was eine Adresse sperrt',
    delivery_notices: 'Zustellberichte',
    retry_schedule: 'Wiederholungen',
    recipient_tls: 'TLS nach Empfänger-Domain',
    urgent_mail: 'Eilige E-Mails',
    harm_limits: 'Bounces und Beschwerden',
  },
  fields: {
    'quota.day': ['Empfänger pro Tag', 'Eine Zahl oder „unlimited“ für beliebig viele. Es zählt der Tag in UTC.'],
    'quota.month': ['Empfänger pro Monat', 'Eine Zahl oder „unlimited“ für beliebig viele.'],
    'suppression_policy.hard_bounces': ['Harte Bounces sperren'],
    'suppression_policy.complaints': ['Beschwerden sperren'],
    'suppression_policy.soft_bounces': ['Weiche Bounces, die sperren', 'So viele in Folge, ohne eine Zustellung dazwischen. 0: nie.'],
    'suppression_policy.expiry': ['Eine Sperre nach einem Bounce gilt', 'Etwa 90d oder 12h. 0: bis jemand sie aufhebt.'],
    delivery_notices: ['Wer über SMTP einliefert, bekommt Zustellberichte per E-Mail'],
    'retry_schedule.delays': [
      'Pausen zwischen den Versuchen',
      'Nach einem vorübergehenden Fehler, etwa 1m, 5m, 1h; die letzte wiederholt sich. Mit Ablauf ihrer Frist wird eine E-Mail in jedem Fall aufgegeben.',
    ],
    'recipient_tls.domains': [
      'Verlangtes TLS',
      'Etwa bank.example=verify, .partner.example=require. „require“: verschlüsselt; „verify“: auch mit gültigem Zertifikat; „dane“: mit einem, das TLSA-Einträge beweisen. Sonst wartet die E-Mail. „none“: keine Domain.',
    ],
    'urgent_mail.per_minute': [
      'Eilige Empfänger pro Minute',
      'E-Mails mit hoher Priorität gehen allen anderen vor; was darüber hinausgeht, geht wie sonst. 0: keine.',
    ],
    'harm_limits.bounces_slow': ['Harte Bounces, die bremsen', 'Pro tausend Empfänger in 24 Stunden. 0: beliebig viele.'],
    'harm_limits.bounces_suspend': ['Harte Bounces, die sperren', 'Pro tausend Empfänger in 24 Stunden. 0: beliebig viele.'],
    'harm_limits.bounces_from': ['Harte Bounces mindestens', 'Weniger in 24 Stunden haben keine Folgen.'],
    'harm_limits.complaints_slow': ['Beschwerden, die bremsen', 'Pro tausend Empfänger in 24 Stunden. 0: beliebig viele.'],
    'harm_limits.complaints_suspend': ['Beschwerden, die sperren', 'Pro tausend Empfänger in 24 Stunden. 0: beliebig viele.'],
    'harm_limits.complaints_from': ['Beschwerden mindestens', 'Weniger in 24 Stunden haben keine Folgen.'],
    'harm_limits.slowed_per_minute': ['Empfänger pro Minute, wenn gebremst', 'Mehr werden bis zur nächsten Minute abgelehnt.'],
  },
}

/** What the dashboard says of the policies of an account, in each language. */
export const policyTexts = { en, de }
