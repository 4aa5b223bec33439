type Json = Record<string, unknown>

interface CompatBody {
  schema: Json
  example: unknown
}

const text: Json = { type: 'string' }
const flag: Json = { type: 'boolean' }
const time: Json = { type: 'integer', minimum: 1_795_000_000, maximum: 1_797_000_000 }
const texts: Json = { type: 'object', additionalProperties: text }
const variables: Json = { type: 'object', additionalProperties: true }
const list = (items: Json, more: Json = {}): Json => ({ type: 'array', items, ...more })
const fields = (properties: Json, ...required: string[]): Json => ({ type: 'object', properties, required, additionalProperties: false })
const file = fields({ filename: text, content: text }, 'filename', 'content')

const mailbox = fields({ email: { type: 'string', format: 'email' }, name: text }, 'email')
const personalization = fields(
  {
    to: list(mailbox, { minItems: 1 }),
    cc: list(mailbox),
    bcc: list(mailbox),
    subject: text,
    headers: texts,
    substitutions: texts,
    dynamic_template_data: variables,
    custom_args: texts,
    send_at: time,
  },
  'to',
)
const sendGrid: CompatBody = {
  schema: fields(
    {
      personalizations: list(personalization, { minItems: 1 }),
      from: mailbox,
      reply_to: mailbox,
      subject: text,
      content: list(fields({ type: { enum: ['text/plain', 'text/html'] }, value: text }, 'type', 'value'), { minItems: 1 }),
      attachments: list(
        fields(
          { content: text, filename: text, type: text, disposition: { enum: ['inline', 'attachment'] }, content_id: text },
          'content',
          'filename',
        ),
      ),
      template_id: text,
      headers: texts,
      categories: list(text),
      custom_args: texts,
      send_at: time,
      batch_id: text,
      asm: fields({ group_id: { type: 'integer' } }, 'group_id'),
      mail_settings: fields({ sandbox_mode: fields({ enable: flag }), footer: fields({ enable: flag, text, html: text }) }),
      tracking_settings: fields({ click_tracking: fields({ enable: flag, enable_text: flag }), open_tracking: fields({ enable: flag }) }),
    },
    'personalizations',
    'from',
    'content',
  ),
  example: {
    personalizations: [{ to: [{ email: 'user@example.net' }] }],
    from: { email: 'app@sender.example', name: 'App' },
    subject: 'Hello',
    content: [{ type: 'text/plain', value: 'Hello' }],
  },
}

const postmarkFields: Json = {
  From: text,
  To: text,
  Cc: text,
  Bcc: text,
  ReplyTo: text,
  Tag: text,
  TrackOpens: flag,
  TrackLinks: { enum: ['None', 'HtmlAndText', 'HtmlOnly', 'TextOnly'] },
  Headers: list(fields({ Name: text, Value: text }, 'Name', 'Value')),
  Metadata: texts,
  Attachments: list(fields({ Name: text, Content: text, ContentType: text, ContentID: text }, 'Name', 'Content')),
  MessageStream: { enum: ['outbound'] },
}
const postmarkEmail: CompatBody = {
  schema: fields({ ...postmarkFields, Subject: text, HtmlBody: text, TextBody: text }, 'From', 'To', 'TextBody'),
  example: { From: 'App <app@sender.example>', To: 'user@example.net', Subject: 'Hello', HtmlBody: '<p>Hello</p>' },
}
const postmarkTemplated: CompatBody = {
  schema: fields(
    { ...postmarkFields, TemplateId: text, TemplateAlias: text, TemplateModel: variables, InlineCss: flag },
    'From',
    'To',
    'TemplateAlias',
    'TemplateModel',
  ),
  example: { From: 'App <app@sender.example>', To: 'user@example.net', TemplateAlias: '<own template>', TemplateModel: { name: 'Ann' } },
}
const batchOf = ({ schema, example }: CompatBody): CompatBody => ({ schema: list(schema, { minItems: 1 }), example: [example, example] })
const templatedBatchOf = ({ schema, example }: CompatBody): CompatBody => ({
  schema: fields({ Messages: list(schema, { minItems: 1 }) }, 'Messages'),
  example: { Messages: [example] },
})

const answer: Json = { enum: ['yes', 'no'] }
const mailgunOptions: Json = {
  'o:tag': list(text),
  'o:testmode': answer,
  'o:dkim': { enum: ['yes'] },
  'o:deliverytime': text,
  'v:order': text,
}
const mailgunEmail: CompatBody = {
  schema: fields(
    {
      from: text,
      to: text,
      cc: text,
      bcc: text,
      subject: text,
      text,
      html: text,
      template: text,
      't:variables': text,
      ...mailgunOptions,
      'o:tracking': answer,
      'o:tracking-opens': answer,
      'h:X-Campaign': text,
      'h:Reply-To': text,
      'recipient-variables': text,
      attachment: file,
      inline: file,
    },
    'from',
    'to',
    'text',
  ),
  example: { from: 'App <app@sender.example>', to: 'user@example.net', subject: 'Hello', text: 'Hello' },
}
const mailgunMime: CompatBody = {
  schema: fields({ to: text, message: file, ...mailgunOptions }, 'to', 'message'),
  example: {
    to: 'user@example.net',
    message: { filename: 'message', content: 'From: app@sender.example\r\nTo: user@example.net\r\nSubject: Hello\r\n\r\nHello\r\n' },
  },
}

/** What our document leaves to the documentation of other services: the bodies that their clients send, by path. */
export const compatBodies: Record<string, CompatBody> = {
  '/compat/sendgrid/v3/mail/send': sendGrid,
  '/compat/postmark/email': postmarkEmail,
  '/compat/postmark/email/batch': batchOf(postmarkEmail),
  '/compat/postmark/email/withTemplate': postmarkTemplated,
  '/compat/postmark/email/batchWithTemplates': templatedBatchOf(postmarkTemplated),
  '/compat/mailgun/v3/{domain}/messages': mailgunEmail,
  '/compat/mailgun/v3/{domain}/messages.mime': mailgunMime,
}
