import type { SuppressionOrigin } from './suppression-origin.ts'

/** The format in which a service exports suppressions. Column names and values are in the form of `plainName`. */
export interface ExportShape {
  /** Where the address is: the first of these columns that exists. The same applies to the other members. */
  address: readonly string[]
  createdAt: readonly string[]
  reason: readonly string[]
  /** When the service would write to the address again. */
  expiresAt?: readonly string[]
  /** Whether the entry here expires then as well. */
  keepsExpiry?: boolean
  /** What an unsubscription is from, where the file says it. */
  topic?: readonly string[]
  /** Why the address is on the list. */
  origin: readonly string[]
  /** More detail on the reason. `origins` may contain both values, separated by a space. */
  originDetail?: readonly string[]
  origins: Readonly<Record<string, SuppressionOrigin>>
  /** If no column gives a reason: the reason that follows from the presence of this column. */
  byColumn?: readonly (readonly [column: string, origin: SuppressionOrigin])[]
  /** The reason if nothing else gives one. */
  otherwise: SuppressionOrigin
  /** The columns of a file without a header line; default: only the address. */
  withoutHeading?: readonly string[]
}

/** The formats of these services' exports and APIs. `docs/migrating.md` says how to get them. */
export const exportShapes = {
  // GET /api/suppressions.csv and GET /api/suppressions of a server like this one
  sterna: {
    address: ['email'],
    createdAt: ['createdat'],
    reason: ['reason'],
    expiresAt: ['expiresat'],
    keepsExpiry: true,
    topic: ['topic'],
    origin: ['origin'],
    origins: { bounce: 'bounce', complaint: 'complaint', manual: 'manual', unsubscribe: 'unsubscribe' },
    otherwise: 'manual',
  },
  // GET /suppressions
  resend: {
    address: ['email', 'emailaddress'],
    createdAt: ['createdat'],
    reason: ['reason'],
    origin: ['origin', 'type'],
    origins: { bounce: 'bounce', complaint: 'complaint', manual: 'manual', unsubscribe: 'unsubscribe' },
    otherwise: 'manual',
  },
  // GET /v3/suppression/bounces, invalid_emails, spam_reports, unsubscribes; /v3/asm/suppressions; the dashboard's CSV of each
  sendgrid: {
    address: ['email', 'emailaddress'],
    createdAt: ['created', 'createdat'],
    reason: ['reason'],
    origin: [],
    origins: {},
    byColumn: [
      ['status', 'bounce'],
      ['reason', 'bounce'],
      ['ip', 'complaint'],
    ],
    otherwise: 'unsubscribe',
  },
  // GET /v3/DOMAIN/bounces, complaints, unsubscribes; the CSV that its own import takes
  mailgun: {
    address: ['address', 'recipient', 'email'],
    createdAt: ['createdat'],
    reason: ['error'],
    origin: [],
    origins: {},
    byColumn: [
      ['code', 'bounce'],
      ['error', 'bounce'],
      ['tags', 'unsubscribe'],
      ['tag', 'unsubscribe'],
    ],
    otherwise: 'complaint',
  },
  // GET /message-streams/STREAM/suppressions/dump
  postmark: {
    address: ['emailaddress', 'email'],
    createdAt: ['createdat', 'bouncedat'],
    reason: ['description'],
    origin: ['suppressionreason', 'reason', 'type'],
    originDetail: ['origin'],
    origins: {
      hardbounce: 'bounce',
      spamcomplaint: 'complaint',
      manualsuppression: 'manual',
      'manualsuppression recipient': 'unsubscribe',
    },
    otherwise: 'manual',
  },
  // aws sesv2 list-suppressed-destinations; the CSV and the lines of JSON that its import jobs take
  ses: {
    address: ['emailaddress', 'email'],
    createdAt: ['lastupdatetime'],
    reason: [],
    origin: ['reason'],
    origins: { bounce: 'bounce', complaint: 'complaint' },
    otherwise: 'bounce',
    withoutHeading: ['emailaddress', 'reason'],
  },
  // The table `suppressions` of a message database
  postal: {
    address: ['address'],
    createdAt: ['timestamp'],
    reason: ['reason'],
    expiresAt: ['keepuntil'],
    origin: [],
    origins: {},
    otherwise: 'bounce',
    withoutHeading: ['id', 'type', 'address', 'reason', 'timestamp', 'keepuntil'],
  },
} satisfies Record<string, ExportShape>

/** `Email Address`, `email_address` and `emailAddress` are the same name. */
export const plainName = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '')
