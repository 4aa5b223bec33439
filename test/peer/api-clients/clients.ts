/**
 * The API clients of other languages and frameworks that `api-clients.test.ts` sends with, unpatched. The table in `docs/migrating.md`
 * is made of these declarations, and each of its marks is a test.
 */

/** What a client may know of besides sending to several recipients and being told why an email is refused. */
export const features = {
  attachments: 'attachments',
  inline: 'inline images',
  template: 'templates',
  personal: 'values for each recipient',
  tags: 'tags',
  metadata: 'metadata',
  schedule: 'schedule',
  tracking: 'tracking',
  suppressed: 'told who is suppressed',
}

export type Feature = keyof typeof features

/** What is refused here, and what would be taken there. */
export const limits = {
  copies: 'values for each recipient together with `cc` or `bcc`',
  remote: 'an attachment by `path`, which the server would have to fetch',
}

export type Limit = keyof typeof limits

export interface ApiClient {
  name: string
  /** What its version, as it tells it, begins with. */
  version: string
  /** The program in this folder that sends with it. */
  program: 'django-anymail.py' | 'symfony.php' | 'postmark.rb' | 'npm.mjs'
  /** What the program calls it. */
  service: string
  /** Where it sends to: what follows the server's URL. */
  path: string
  /** How it gets there, as its user writes it. */
  setup: string
  /** Whether it insists on HTTPS: then its URL is given without `https://`. */
  onlyHttps?: true
  can: Feature[]
  /** The client's own gaps are not listed. */
  cannot?: Limit[]
  /** How a text names the value `name` of its recipient; with others it is a template that has them. */
  placeholder?: string
}

const anymail = { version: '9.', program: 'django-anymail.py' } as const
const symfony = { version: '5.4', program: 'symfony.php', onlyHttps: true } as const
const npm = { program: 'npm.mjs' } as const
const forms: Feature[] = ['attachments', 'inline', 'tags', 'metadata']

export const apiClients: ApiClient[] = [
  {
    ...anymail,
    name: 'Anymail (Django), SendGrid',
    service: 'sendgrid',
    path: '/compat/sendgrid/v3/',
    setup: "`ANYMAIL = {'SENDGRID_API_KEY': KEY, 'SENDGRID_API_URL': '{base_url}/compat/sendgrid/v3/'}`",
    can: [...forms, 'template', 'personal', 'schedule', 'tracking'],
  },
  {
    ...anymail,
    name: 'Anymail (Django), Postmark',
    service: 'postmark',
    path: '/compat/postmark/',
    setup: "`ANYMAIL = {'POSTMARK_SERVER_TOKEN': KEY, 'POSTMARK_API_URL': '{base_url}/compat/postmark/'}`",
    can: [...forms, 'template', 'personal', 'tracking', 'suppressed'],
  },
  {
    ...anymail,
    name: 'Anymail (Django), Mailgun',
    service: 'mailgun',
    path: '/compat/mailgun/v3/',
    setup: "`ANYMAIL = {'MAILGUN_API_KEY': KEY, 'MAILGUN_API_URL': '{base_url}/compat/mailgun/v3/'}`",
    can: [...forms, 'template', 'personal', 'schedule', 'tracking'],
    cannot: ['copies'],
  },
  {
    ...anymail,
    name: 'Anymail (Django), Postal',
    service: 'postal',
    path: '/compat/postal/',
    setup: "`ANYMAIL = {'POSTAL_API_KEY': KEY, 'POSTAL_API_URL': '{base_url}/compat/postal/'}`",
    can: ['attachments', 'tags'],
  },
  {
    ...symfony,
    name: 'Symfony Mailer, SendGrid',
    service: 'sendgrid+api',
    path: '/compat/sendgrid',
    setup: "`new Dsn('sendgrid+api', 'mail.example.com/compat/sendgrid', KEY)`",
    can: forms,
  },
  {
    ...symfony,
    name: 'Symfony Mailer, Postmark',
    service: 'postmark+api',
    path: '/compat/postmark',
    setup: "`new Dsn('postmark+api', 'mail.example.com/compat/postmark', KEY)`",
    can: forms,
  },
  {
    ...symfony,
    name: 'Symfony Mailer, Mailgun (`mailgun+api`)',
    service: 'mailgun+api',
    path: '/compat/mailgun',
    setup: "`new Dsn('mailgun+api', 'mail.example.com/compat/mailgun', KEY, DOMAIN)`",
    can: [...forms, 'template', 'schedule', 'tracking'],
  },
  {
    ...symfony,
    name: 'Symfony Mailer, Mailgun (`mailgun+https`)',
    service: 'mailgun+https',
    path: '/compat/mailgun',
    setup: "`new Dsn('mailgun+https', 'mail.example.com/compat/mailgun', KEY, DOMAIN)`",
    can: forms,
  },
  {
    name: 'postmark-gem (Ruby) with mail',
    version: '1.22',
    program: 'postmark.rb',
    service: 'postmark',
    path: '/compat/postmark/',
    setup: "`api_token: KEY, host: 'mail.example.com', path_prefix: '/compat/postmark/'`",
    can: [...forms, 'template', 'tracking', 'suppressed'],
  },
  {
    ...npm,
    name: '`resend`',
    version: '6.',
    service: 'resend',
    path: '/api',
    setup: '`RESEND_BASE_URL={base_url}/api`',
    can: ['attachments', 'inline', 'tags', 'template', 'schedule'],
    cannot: ['remote'],
  },
  {
    ...npm,
    name: '`resend`',
    version: '2.',
    service: 'resend2',
    path: '/api',
    setup: '`RESEND_BASE_URL={base_url}/api`',
    can: ['attachments', 'tags'],
    cannot: ['remote'],
  },
  {
    ...npm,
    name: '`@sendgrid/mail`',
    version: '8.',
    service: '@sendgrid/mail',
    path: '/compat/sendgrid',
    setup: "`setApiKey(KEY)`, then `client.setDefaultRequest('baseUrl', '{base_url}/compat/sendgrid')`",
    can: [...forms, 'template', 'personal', 'schedule', 'tracking'],
    placeholder: '{{name}}',
  },
  {
    ...npm,
    name: '`postmark`',
    version: '5.',
    service: 'postmark',
    path: '/compat/postmark',
    setup: "`new ServerClient(KEY, { requestHost: 'mail.example.com/compat/postmark' })`",
    can: [...forms, 'template', 'tracking', 'suppressed'],
  },
  {
    ...npm,
    name: '`mailgun.js`',
    version: '14.',
    service: 'mailgun.js',
    path: '/compat/mailgun',
    setup: "`client({ username: 'api', key: KEY, url: '{base_url}/compat/mailgun' })`",
    can: [...forms, 'template', 'personal', 'schedule', 'tracking'],
    cannot: ['copies'],
    placeholder: '%recipient.name%',
  },
  {
    ...npm,
    name: '`nodemailer-mailgun-transport`',
    version: '2.',
    service: 'nodemailer-mailgun-transport',
    path: '/compat/mailgun',
    setup: "`mailgunTransport({ auth: { api_key: KEY, domain: DOMAIN }, url: '{base_url}/compat/mailgun' })`",
    can: [...forms, 'template', 'personal', 'schedule', 'tracking'],
    cannot: ['copies'],
    placeholder: '%recipient.name%',
  },
  {
    ...npm,
    name: '`nodemailer-postmark-transport`',
    version: '7.',
    service: 'nodemailer-postmark-transport',
    path: '/compat/postmark',
    setup: "`postmarkTransport({ auth: { apiKey: KEY }, postmarkOptions: { requestHost: 'mail.example.com/compat/postmark' } })`",
    can: [...forms, 'template', 'tracking'],
  },
]
