import { describe, expect, it } from 'vitest'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

const classOf = async (...lines: string[]): Promise<string> => {
  const report = parseFeedback(await readReturnedMessage(Buffer.from(lines.join('\r\n')), bounceVocabulary()))
  expect(report.recipients.filter(({ action }) => action === 'failed')).toEqual([])
  return report.class
}

const person = 'From: Person <person@example.com>'
const quoted = ['', 'I am away. My mail to you said: 550 5.1.1 user unknown, mailbox full.', 'person@example.com']

describe('an automatic reply is not a bounce, whatever it says', () => {
  it.each([
    ['RFC 3834', 'Auto-Submitted: auto-replied'],
    ['RFC 3834 with a parameter', 'Auto-Submitted: auto-replied (vacation)'],
    ['Outlook', 'X-Auto-Response-Suppress: All'],
    ['an autoresponder', 'X-Autoreply: yes'],
    ['an old autoresponder', 'Precedence: auto_reply'],
    ['a rule of Exchange', 'X-MS-Exchange-Inbox-Rules-Loop: person@example.com'],
    ['English', 'Subject: Out of Office: your order'],
    ['English, automatic', 'Subject: Automatic reply: your order'],
    ['English, away for long', 'Subject: Maternity leave, Re: your order'],
    ['an autoresponder that has a subject of reports', 'X-Autoreply: yes\r\nSubject: Undeliverable: I am away'],
    ['German', 'Subject: Automatische Antwort: Ihre Bestellung'],
    ['German, absent', 'Subject: Abwesenheitsnotiz'],
    ['French', 'Subject: =?utf-8?Q?R=C3=A9ponse_automatique_:_commande?='],
    ['Spanish', 'Subject: =?iso-8859-1?Q?Respuesta_autom=E1tica:_pedido?='],
    ['Italian', 'Subject: Risposta automatica: ordine'],
    ['Portuguese', 'Subject: =?utf-8?Q?Resposta_autom=C3=A1tica=3A_pedido?='],
    ['Dutch', 'Subject: Automatisch antwoord: bestelling'],
    ['Swedish', 'Subject: Autosvar: order'],
    ['Polish', 'Subject: =?utf-8?Q?Automatyczna_odpowied=C5=BA=3A_zam=C3=B3wienie?='],
    ['Russian', `Subject: =?utf-8?B?${Buffer.from('Автоматический ответ: заказ').toString('base64')}?=`],
    ['Japanese', `Subject: =?utf-8?B?${Buffer.from('自動応答: 注文').toString('base64')}?=`],
    ['Chinese', `Subject: =?utf-8?B?${Buffer.from('自动答复: 订单').toString('base64')}?=`],
    ['a challenge', 'Subject: Please confirm your message'],
    ['TMDA', 'X-Delivery-Agent: TMDA/1.1.12'],
    ['a challenge with a field', 'X-TMDA-Fingerprint: abc'],
  ])('%s', async (_, field) => {
    expect(await classOf('Return-Path: <>', person, field, ...quoted)).toBe('autoreply')
  })

  it('a read receipt', async () => {
    const receipt = [
      '--b',
      'Content-Type: message/disposition-notification',
      '',
      'Final-Recipient: rfc822;person@example.com',
      'Disposition: manual-action/MDN-sent-manually; deleted',
      '--b--',
    ]
    expect(await classOf(person, 'Content-Type: multipart/report; report-type=disposition-notification; boundary=b', '', ...receipt)).toBe(
      'autoreply',
    )
  })

  it('a notification that mail was deleted unread', async () => {
    const notice = ['--b', '', 'Your message was deleted without being read.', '--b', 'Content-Type: message/disposition-notification', '']
    const fields = ['Final-Recipient: rfc822;person@example.com', 'Disposition: automatic-action/MDN-sent-automatically; deleted', '--b--']
    const type = 'Content-Type: multipart/report; report-type=disposition-notification; boundary=b'
    expect(await classOf(person, type, '', ...notice, ...fields)).toBe('autoreply')
    const ofReport = notice.map((line) => line.replace('message', 'message "Your order could not be delivered"'))
    expect(await classOf(person, type, '', ...ofReport, ...fields)).toBe('autoreply')
  })

  it('a reply from someone named like a mail system', async () => {
    const answer = ['Subject: Automatic reply: order', '', 'I am away. <a@b.example>: 550 5.1.1 User unknown']
    expect(await classOf('From: Ann UUCP <ann@uucp.example>', ...answer)).toBe('autoreply')
    expect(await classOf('From: The MIMEDefang list <list@example.org>', ...answer)).toBe('autoreply')
  })

  it('mail from a person is none of these', async () => {
    expect(await classOf(person, 'Subject: Re: your order', '', 'Thank you, it has arrived.')).toBe('not-bounce')
    const quotedReport = [
      'Subject: Re: Undelivered Mail',
      'In-Reply-To: <a@b.example>',
      '',
      'What is this?',
      '> Final-Recipient: rfc822; a@b.example',
      '> Action: failed',
      '> Status: 5.1.1',
    ]
    expect(await classOf(person, ...quotedReport)).toBe('not-bounce')
    expect(await classOf(person, ...quotedReport.map((line) => line.replace('> ', '')))).toBe('not-bounce')
    expect(await classOf('')).toBe('not-bounce')
  })
})
