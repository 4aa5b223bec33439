import { describe, expect, it } from 'vitest'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

/** Charset, text, and its bytes in base64. */
const texts: [string, string, string][] = [
  ['shift_jis', '宛先のユーザーは存在しません', 'iLaQ5oLMg4aBW4NVgVuCzZG2jd2CtYLcgrmC8Q=='],
  ['euc-jp', '宛先のユーザーは存在しません', 'sLjA6KTOpeahvKW2obykz8K4ut+kt6TepLuk8w=='],
  ['iso-2022-jp', '宛先のユーザーは存在しません', 'GyRCMDhAaCROJWYhPCU2ITwkT0I4Ol8kNyReJDskcxsoQg=='],
  ['koi8-r', 'Пользователь не найден', '8M/M2NrP18HUxczYIM7FIM7BysTFzg=='],
  ['windows-1251', 'Пользователь не найден', 'z+7r/Ofu4uDy5ev8IO3lIO3g6eTl7Q=='],
  ['gbk', '收件人不存在', 'ytW8/sjLsru05tTa'],
  ['big5', '收件者不存在', 'pqyl86rMpKOmc6Zi'],
  ['euc-kr', '존재하지 않는 사용자입니다', 'wbjA58fPwfYgvsq0wiC757/rwNrA1LTPtNk='],
  ['windows-1252', 'Empfänger unbekannt', 'RW1wZuRuZ2VyIHVuYmVrYW5udA=='],
  ['utf-8', 'Empfänger unbekannt', 'RW1wZsOkbmdlciB1bmJla2FubnQ='],
]

/** A status whose diagnostic is in 8-bit, as servers reply. */
const report = (diagnostic: Buffer, textFields: string[], text = Buffer.from('Sorry.')): Buffer =>
  Buffer.concat([
    Buffer.from(
      [
        'From: MAILER-DAEMON@mx.example',
        'Subject: Undelivered mail',
        'MIME-Version: 1.0',
        'Content-Type: multipart/report; report-type=delivery-status; boundary=r',
        '',
        '--r',
        ...textFields,
        '',
        '',
      ].join('\r\n'),
    ),
    text,
    Buffer.from(
      '\r\n--r\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example\r\n\r\n' +
        'Final-Recipient: rfc822; ann@rcpt.example\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 ',
    ),
    diagnostic,
    Buffer.from('\r\n\r\n--r--\r\n'),
  ])

const reasonIn = async (mail: Buffer): Promise<string | undefined> =>
  parseFeedback(await readReturnedMessage(mail, bounceVocabulary())).recipients[0]?.reason

describe.each(texts)('a diagnostic in %s is stored as text', (charset, text, base64) => {
  const bytes = Buffer.from(base64, 'base64')
  it('with nothing declared', async () => {
    expect(await reasonIn(report(bytes, ['Content-Type: text/plain']))).toBe(`550 5.1.1 ${text}`)
  })
  it('with the charset of the text', async () => {
    const fields = [`Content-Type: text/plain; charset=${charset}`, 'Content-Transfer-Encoding: 8bit']
    expect(await reasonIn(report(bytes, fields, bytes))).toBe(`550 5.1.1 ${text}`)
  })
  it('with a text in UTF-8', async () => {
    expect(await reasonIn(report(bytes, ['Content-Type: text/plain; charset=utf-8'], Buffer.from('Ünzustellbar')))).toBe(
      `550 5.1.1 ${text}`,
    )
  })
  it('as encoded words', async () => {
    expect(await reasonIn(report(Buffer.from(`=?${charset}?B?${base64}?=`), ['Content-Type: text/plain']))).toBe(`550 5.1.1 ${text}`)
  })
  it('in a header field without encoding', async () => {
    const { headers } = await readReturnedMessage(
      Buffer.concat([Buffer.from('Subject: '), bytes, Buffer.from('\r\n\r\nx')]),
      bounceVocabulary(),
    )
    expect(headers).toEqual([{ name: 'subject', value: text }])
  })
})

it('replies of two hosts in two charsets are both read', async () => {
  const [japanese, latin] = [Buffer.from(texts[0]![2], 'base64'), Buffer.from('\n Empfänger unbekannt')]
  expect(await reasonIn(report(Buffer.concat([japanese, latin]), ['Content-Type: text/plain']))).toBe(
    `550 5.1.1 ${texts[0]![1]} Empfänger unbekannt`,
  )
})
