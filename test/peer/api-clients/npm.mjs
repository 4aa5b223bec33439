// Sends an email with a client of npm for each line of the standard input, as `api-clients.test.ts` describes them, and answers with a line.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const require = createRequire(import.meta.url)

/** Without members that say nothing: some clients would send them as they are. */
const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const listOf = (addresses) => addresses?.join(', ')

/** Not every package lets its package.json be required. */
const versionOf = (name) => {
  const folder = require.resolve
    .paths(name)
    .map((path) => join(path, name, 'package.json'))
    .find((path) => existsSync(path))
  return JSON.parse(readFileSync(folder, 'utf8')).version
}

async function send({ service, key, url, email }) {
  const { from, to, cc, bcc, replyTo, subject, html, headers, tags, metadata, template, variables, personal, opens, clicks } = email
  const files = (email.attachments ?? []).map((file) => ({ ...file, bytes: file.content && Buffer.from(file.content, 'base64') }))
  const sendAt = email.sendAt === undefined ? undefined : new Date(email.sendAt * 1000)
  const { host, pathname, protocol } = new URL(url)
  const postmarkOptions = { requestHost: host + pathname, useHttps: protocol === 'https:' }

  const resend = (module) => async () => {
    // An old one reads it when it is loaded; it is the same for all emails.
    process.env.RESEND_BASE_URL = url
    const { Resend } = require(module)
    const { data, error } = await new Resend(key).emails.send(
      given({
        from,
        to,
        cc,
        bcc,
        subject,
        html,
        text: email.text,
        headers,
        template: template && { id: template, variables },
        [module === 'resend2' ? 'reply_to' : 'replyTo']: replyTo,
        [module === 'resend2' ? 'scheduled_at' : 'scheduledAt']: sendAt?.toISOString(),
        tags: tags?.map((name) => ({ name, value: 'true' })),
        attachments:
          email.attachments && files.map(({ filename, bytes, path, cid }) => given({ filename, path, content: bytes, contentId: cid })),
      }),
    )
    if (error) throw new Error(error.message)
    return data.id
  }

  const viaNodemailer = async (transport, fields) => {
    const { createTransport } = require('nodemailer')
    const { messageId } = await createTransport(transport).sendMail(
      given({
        from,
        to,
        cc,
        bcc,
        replyTo,
        subject,
        html,
        text: email.text,
        headers,
        attachments: files.map(({ filename, bytes, type, cid }) => given({ filename, content: bytes, contentType: type, cid })),
        ...fields,
      }),
    )
    return messageId
  }

  const sendgridMail = () => ({
    from,
    to,
    cc,
    bcc,
    subject,
    html,
    text: email.text,
    headers,
    replyTo: replyTo?.[0],
    categories: tags,
    customArgs: metadata,
    templateId: template,
    dynamicTemplateData: variables,
    sendAt: email.sendAt,
    ...(opens === undefined ? {} : { trackingSettings: { openTracking: { enable: opens }, clickTracking: { enable: clicks } } }),
    ...(personal
      ? {
          to: undefined,
          personalizations: to.map((one) => ({ to: one, substitutions: personal[one], substitutionWrappers: ['{{', '}}'] })),
        }
      : {}),
    attachments:
      email.attachments &&
      files.map(({ filename, content, type, cid }) =>
        given({ filename, content, type, contentId: cid, disposition: cid ? 'inline' : 'attachment' }),
      ),
  })

  const postmarkMail = () =>
    given({
      From: from,
      To: listOf(to),
      Cc: listOf(cc),
      Bcc: listOf(bcc),
      ReplyTo: listOf(replyTo),
      ...(template ? { TemplateAlias: template, TemplateModel: variables } : { Subject: subject, HtmlBody: html, TextBody: email.text }),
      Tag: tags?.[0],
      Metadata: metadata,
      TrackOpens: opens,
      TrackLinks: clicks === undefined ? undefined : clicks ? 'HtmlAndText' : 'None',
      Headers: headers && Object.entries(headers).map(([Name, Value]) => ({ Name, Value })),
      Attachments:
        email.attachments &&
        files.map(({ filename, content, type, cid }) =>
          given({ Name: filename, Content: content, ContentType: type, ContentID: cid && `cid:${cid}` }),
        ),
    })

  const mailgunFields = () =>
    given({
      'o:tag': tags,
      'o:deliverytime': sendAt?.toUTCString(),
      'o:tracking-opens': opens,
      'o:tracking-clicks': clicks,
      template,
      'recipient-variables': personal && JSON.stringify(personal),
      ...Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [`v:${name}`, value])),
      ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [`h:${name}`, value])),
      'h:X-Mailgun-Variables': variables && JSON.stringify(variables),
    })

  const clients = {
    resend: resend('resend'),
    resend2: resend('resend2'),
    '@sendgrid/mail': async () => {
      const sendgrid = require('@sendgrid/mail')
      sendgrid.setApiKey(key)
      sendgrid.client.setDefaultRequest('baseUrl', url)
      const [{ headers: answered }] = await sendgrid.send(given(sendgridMail())).catch((error) => {
        throw new Error(JSON.stringify(error.response?.body ?? error.message))
      })
      return answered['x-message-id']
    },
    postmark: async () => {
      const { ServerClient } = require('postmark')
      const server = new ServerClient(key, postmarkOptions)
      const { MessageID, Message } = await (template ? server.sendEmailWithTemplate(postmarkMail()) : server.sendEmail(postmarkMail()))
      answer.message = Message
      return MessageID
    },
    'mailgun.js': async () => {
      const Mailgun = require('mailgun.js')
      const messages = new (Mailgun.default ?? Mailgun)(FormData).client({ username: 'api', key, url, useFetch: true }).messages
      const { id } = await messages
        .create(
          'sender.example',
          given({
            from,
            to,
            cc,
            bcc,
            subject,
            html,
            text: email.text,
            'h:Reply-To': listOf(replyTo),
            ...mailgunFields(),
            attachment: files.filter(({ cid }) => !cid).map(({ filename, bytes }) => ({ filename, data: bytes })),
            inline: files.filter(({ cid }) => cid).map(({ cid, bytes }) => ({ filename: cid, data: bytes })),
          }),
        )
        .catch((error) => {
          throw new Error(error.details ?? error.message)
        })
      return id
    },
    'nodemailer-mailgun-transport': () =>
      viaNodemailer(require('nodemailer-mailgun-transport')({ auth: { api_key: key, domain: 'sender.example' }, url }), mailgunFields()),
    'nodemailer-postmark-transport': () =>
      viaNodemailer(
        require('nodemailer-postmark-transport')({ auth: { apiKey: key }, postmarkOptions }),
        given({
          tag: tags?.[0],
          metadata,
          templateAlias: template,
          templateModel: variables,
          trackOpens: opens,
          trackLinks: clicks === undefined ? undefined : clicks ? 'HtmlAndText' : 'None',
        }),
      ),
  }

  const answer = { version: versionOf(service) }
  try {
    answer.id = await clients[service]()
  } catch (error) {
    answer.error = error.details ?? error.message
  }
  return answer
}

for await (const line of createInterface(process.stdin)) console.log(JSON.stringify(await send(JSON.parse(line))))
