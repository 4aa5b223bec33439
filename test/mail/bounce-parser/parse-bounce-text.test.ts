import { readFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { Feedback } from '../../../src/mail/bounce-parser/feedback.ts'
import { parseBounceText } from '../../../src/mail/bounce-parser/parse-bounce-text.ts'
import { parseFeedback } from '../../../src/mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../../src/mail/bounce-parser/read-returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'
import { ReturnedMessage, type ReturnedPart } from '../../../src/mail/bounce-parser/returned-message.ts'
import { anyCharacter } from '../../support/any-character.ts'

const directory = resolve(import.meta.dirname, '../../fixtures/freeform')
const names = readdirSync(directory).filter((name) => name.endsWith('.eml'))

describe('bounces of many mail systems without a delivery status', () => {
  it.each(names)('%s', async (name) => {
    const expected = JSON.parse(readFileSync(join(directory, name.replace('.eml', '.json')), 'utf8')) as Partial<Feedback>
    const { class: found, recipients } = parseFeedback(await readReturnedMessage(readFileSync(join(directory, name)), bounceVocabulary()))
    expect({ class: found, recipients: recipients.map(({ address, action, hard }) => ({ address, action, hard })) }).toEqual(expected)
  })
})

const notice = (content: string, headers: Record<string, string> = {}, ...more: ReturnedPart[]): ReturnedMessage => {
  const fields = Object.entries({ from: 'MAILER-DAEMON@mx.test', subject: 'failure notice', ...headers })
  return new ReturnedMessage(
    fields.map(([name, value]) => ({ name, value })),
    [{ contentType: 'text/plain', content }, ...more],
    bounceVocabulary(),
  )
}
const recipients = (content: string, headers?: Record<string, string>): string[] =>
  parseBounceText(notice(content, headers)).map(({ address, action, hard }) => `${address} ${action}${hard ? ' hard' : ''}`)

describe('the failed recipient', () => {
  it.each<[string, string, string[]]>([
    [
      'not the sender that the report names',
      'The message from b@us.test to a@them.test could not be delivered: user unknown',
      ['a@them.test failed hard'],
    ],
    [
      'not whom to turn to',
      'Delivery failed:\n\n<a@them.test>\n  user unknown\n\nQuestions? Contact help@them.test.',
      ['a@them.test failed hard'],
    ],
    [
      'a role that a reply begins with',
      '<webmaster@them.test>:\nSMTP error from remote mailer after RCPT TO:\n<webmaster@them.test>: host mx.them.test:\n550 <webmaster@them.test>... User unknown',
      ['webmaster@them.test failed hard'],
    ],
    [
      'not the new address',
      'There was an error delivering your mail to <a@them.test>.\n\nmx.them.test did not like our RCPT TO:\n551 User not local; please try <b@other.test>',
      ['a@them.test failed hard'],
    ],
    [
      'nobody in what came back',
      '<a@them.test>: user unknown\n\n--- Original message ---\n\nFrom: b@us.test\nTo: c@them.test\n',
      ['a@them.test failed hard'],
    ],
    ['nobody without a word of failure', 'We have met a@them.test and c@them.test there.', []],
    [
      'not the owner of a list',
      'Your message to a@them.test was rejected: user unknown. If you disagree, contact the owner at\na-owner@them.test.',
      ['a@them.test failed hard'],
    ],
    [
      'each of a row, with the reason behind it',
      'Intended Recipients: <a@them.test>, <c@them.test>\nFailure Reason: Domain not found: them.test',
      ['a@them.test failed hard', 'c@them.test failed hard'],
    ],
    [
      'each of a list, once',
      '<a@them.test>, <c@them.test>: user unknown\n<a@them.test>: user unknown',
      ['a@them.test failed hard', 'c@them.test failed hard'],
    ],
  ])('%s', (_, content, expected) => expect(recipients(content, { subject: 'Undelivered mail' })).toEqual(expected))

  it('is named in a field for it', () => {
    const headers = { 'x-failed-recipients': 'a@them.test', subject: 'Mail delivery failed' }
    expect(recipients('The following address failed:\n\n  c@them.test\n    user unknown', headers)).toEqual(['a@them.test failed hard'])
  })

  it('is not hard because of what is said about another', () => {
    const headers = { 'x-failed-recipients': 'a@them.test, c@them.test', subject: 'Mail delivery failed' }
    expect(recipients('The following address failed:\n\n  c@them.test\n    user unknown', headers)).toEqual([
      'a@them.test failed',
      'c@them.test failed hard',
    ])
  })

  it('is the original recipient if the text names nobody', () => {
    const original = { contentType: 'message/rfc822', content: 'From: b@us.test\nTo: a@them.test\n\nHello' }
    const message = notice('Your message could not be delivered: the user does not exist.', {}, original)
    expect(parseBounceText(message)).toMatchObject([{ address: 'a@them.test', hard: true }])
  })
})

describe('a quoted reply', () => {
  it.each<[string, string, boolean]>([
    ['at RCPT', '<a@them.test>: host mx.test said: 550 User unknown (in reply to RCPT TO command)', true],
    ['at RCPT, as Coremail has it', '<a@them.test>\nSMTP error, RCPT TO: Host mx.test(192.0.2.1) said 550 User unknown', true],
    ['at RCPT, as Gmail numbers it', '<a@them.test>\nThe error that the other server returned was: 550 550 User unknown (state 14).', true],
    [
      'at RCPT, as GroupWise shows it',
      'Undeliverable:\n\ta@them.test (550 No such recipient)\n\nTranscript of session follows:\n   Command: RCPT TO:<a@them.test>\n   Response: 550 No such recipient',
      true,
    ],
    [
      'at RCPT, broken before its recipient',
      '<a@them.test>: host mx.test said: 550\n    <a@them.test>... User unknown (in reply to RCPT TO command)',
      true,
    ],
    ['at RCPT, as IMail has it', '<a@them.test>:\nRCPT TO generated following response:\n550 unknown user <a@them.test>', true],
    ['at RCPT, its command alone', 'Undeliverable:\n\ta@them.test (550 No such recipient)\n\n   Command: RCPT TO:<a@them.test>', true],
    [
      'after the data, as GroupWise shows it',
      'Undeliverable:\n\ta@them.test (550 No such recipient)\n\n   Command: DATA\n   Response: 550 No such recipient',
      false,
    ],
    [
      'after the data, as Gmail numbers it',
      '<a@them.test>\nThe error that the other server returned was: 550 550 User unknown (state 17).',
      false,
    ],
    ['with a code of the address', '<a@them.test>: host mx.test said: 550 5.1.1 User unknown', true],
    ['after the data', '<a@them.test>: host mx.test said: 550 User unknown (in reply to end of DATA command)', false],
    ['nobody knows where', '<a@them.test>: host mx.test said: 550 User unknown', false],
    ['of an unknown domain, beginning with its recipient', '<a@them.test>: 550 a@them.test... Host unknown', true],
    ['of a list', '<a@them.test>: host mx.test said: 550 5.1.1 listed at zen.spamhaus.org (in reply to RCPT TO command)', false],
  ])('%s', (_, content, hard) => expect(parseBounceText(notice(content))).toMatchObject([{ address: 'a@them.test', smtpCode: 550, hard }]))
})

it('1&1 does not quote a code, but its refusal came after the data and is not hard', () => {
  const said = (phase: string) =>
    recipients(`failed:\n\n"a@them.test":\nSMTP error from remote server ${phase}:\nhost: mx.them.test\nno such recipient here`)
  expect(said('after transfer of mail text')).toEqual(['a@them.test failed'])
  expect(said('after RCPT command')).toEqual(['a@them.test failed hard'])
})

it('Postfix transcripts of client sessions, sent to the operator, are never hard', () => {
  const transcript =
    'Transcript of session follows.\n\n Out: 220 mx.test ESMTP Postfix\n In:  RCPT TO:<a@them.test>\n Out: 550 5.1.1 <a@them.test>: Recipient address rejected: User unknown'
  expect(recipients(transcript, { subject: 'Postfix SMTP server: errors from client.test[192.0.2.1]' })).toEqual(['a@them.test failed'])
  expect(recipients(transcript, { subject: 'Undelivered mail' })).toEqual(['a@them.test failed hard'])
})

it('reads the text before a returned header, including the transcript', () => {
  const original = '\nFrom: b@us.test\nTo: <a@them.test, c@other.test>\nSubject: x\nMessage-ID: <1@us.test>\n'
  const reasons =
    'The message to <a@them.test> was undeliverable:\n5.2.2 - Mailbox full\n\nThe message to <c@other.test> was undeliverable:\n5.1.2 - Bad destination host'
  expect(recipients(`${reasons}\n${original}`)).toEqual(['a@them.test failed', 'c@other.test failed hard'])
  expect(
    recipients(
      'These addresses failed:\n\n> a@them.test\n\nBelow is a copy of the session transcript:\n\n DNS: domain name unknown (them.test)',
    ),
  ).toEqual(['a@them.test failed hard'])
})

it('finds recipients known to have failed, however the text names them', () => {
  const headers = { 'x-failed-recipients': 'a@them.test, c@other.test', subject: 'Undeliverable mail' }
  const content =
    "Failed to deliver to 'a@them.test':\n 550 5.1.1 <a@them.test>... User unknown\n\nFailed to deliver to 'c@other.test':\n domain name does not exist"
  expect(recipients(content, headers)).toEqual(['a@them.test failed hard', 'c@other.test failed hard'])
})

describe('bounces in many languages', () => {
  it.each([
    ['Meddelandet kunde inte levereras', 'Ditt meddelande till a@them.test kunde inte levereras. Mottagaren finns inte.'],
    ['Meddelelsen kunne ikke leveres', 'Din meddelelse til a@them.test kunne ikke leveres. Modtageren findes ikke.'],
    ['Meldingen kunne ikke leveres', 'Meldingen til a@them.test kunne ikke leveres. Ukjent mottaker.'],
    ['Viestiä ei voitu toimittaa', 'Viestiä vastaanottajalle a@them.test ei voitu toimittaa. Vastaanottajaa ei löydy.'],
    ['Nedoručená zpráva', 'Vaši zprávu pro a@them.test se nepodařilo doručit. Uživatel neexistuje.'],
    ['Kézbesíthetetlen levél', 'Az a@them.test címre küldött levél nem kézbesíthető. A felhasználó nem létezik.'],
    [
      'تعذر تسليم الرسالة',
      'تعذر تسليم رسالتك إلى المستلم التالي:\n\na@them.test\n\nالسبب: عنوان البريد الإلكتروني للمستلم غير موجود على هذا الخادم.',
    ],
    ['Teslim edilemedi', 'a@them.test adresine gönderdiğiniz ileti teslim edilemedi. Kullanıcı bulunamadı.'],
    ['Лист не доставлено', 'Ваш лист для a@them.test не доставлено. Користувача не існує.'],
    ['Αποτυχία παράδοσης', 'Το μήνυμά σας προς a@them.test δεν παραδόθηκε. Ο παραλήπτης δεν υπάρχει.'],
    ['Unzustellbar', 'Ihre Nachricht an a@them.test konnte nicht zugestellt werden. Der Empfänger ist unbekannt.'],
    ['Mensaje devuelto', 'No se ha podido entregar su mensaje a a@them.test porque la dirección de correo no existe.'],
    ['Messaggio non recapitato', 'Il messaggio inviato a a@them.test non è stato recapitato: indirizzo inesistente.'],
    ['Письмо не доставлено', 'Ваше письмо не может быть доставлено получателю a@them.test, такого пользователя не существует.'],
    ['系统退信', '您发往 a@them.test 的邮件被退回。原因：收件人邮箱不存在。'],
    ['送信エラー', 'a@them.test 宛のメールは届きませんでした。宛先のユーザーが見つかりません。'],
    ['메일 전송 실패', 'a@them.test 로 보낸 메일이 반송되었습니다. 수신자가 존재하지 않습니다.'],
  ])('%s: %s', (subject, content) => {
    expect(recipients(content, { from: 'postmaster@us.test', subject })).toEqual(['a@them.test failed hard'])
  })
})

describe('a bounce from an unknown system', () => {
  it.each([
    [
      'Mancata consegna del messaggio',
      'Non è stato possibile recapitare il suo messaggio al destinatario a@them.test.\nMotivo: la casella non esiste',
    ],
    ['NON RECAPITATO: ciao', 'Il messaggio non è stato recapitato a:\n a@them.test\nMotivo: utente sconosciuto'],
    ['Wiadomość nie została dostarczona', 'Twoja wiadomość do a@them.test nie została dostarczona.\nPowód: użytkownik nie istnieje'],
    ["Votre message n'a pas été remis", "Votre message à a@them.test n'a pas pu être remis.\nRaison : utilisateur inconnu"],
    ['Mail returned: Your order 1188', 'Subject: Your order 1188\nTo: a@them.test\n\nThis mail could not be delivered: no such user'],
    ['Delivery problem', 'The message with the subject\n  Your order 1188\ncould not be delivered to a@them.test: no such user'],
  ])('%s', (subject, content) => expect(recipients(content, { from: 'Mail <mail@x.test>', subject })).toEqual(['a@them.test failed hard']))
})

describe('a vague wording is not proof', () => {
  it.each([
    'The address may not exist.',
    'Possible reasons: user unknown, server down.',
    'If the user does not exist, contact them by other means.',
    'Please check whether the address is valid.',
    'Möglicherweise existiert die Adresse nicht.',
    "Il se peut que l'adresse n'existe pas.",
    'Es posible que la dirección no exista: usuario desconocido.',
    'Возможно, пользователь не существует.',
    '收件人可能不存在',
    '宛先のアドレスが存在しない可能性があります。',
  ])('%s', (reason) => expect(recipients(`Your message to a@them.test could not be delivered. ${reason}`)).toEqual(['a@them.test failed']))
})

describe('a bounce of a mailing list', () => {
  it.each<[string, string, string[]]>([
    [
      'one reason behind it',
      'Not delivered to:\na@them.test\nc@them.test\n\nReason: the domain them.test does not exist',
      ['a@them.test failed', 'c@them.test failed hard'],
    ],
    [
      'a reason before each',
      'The following users are unknown:\n  a@them.test\n\nThe mailbox of these is full:\n  c@them.test',
      ['a@them.test failed hard', 'c@them.test failed'],
    ],
    [
      'the other way round',
      'The mailbox of these is full:\n  a@them.test\n\nThe following users are unknown:\n  c@them.test',
      ['a@them.test failed', 'c@them.test failed hard'],
    ],
    [
      'a reason each',
      'Failed:\n\na@them.test - user unknown\nc@them.test - mailbox is full',
      ['a@them.test failed hard', 'c@them.test failed'],
    ],
    [
      'a field of the reason before each',
      'Reason: mailbox is full\nRecipient: a@them.test\n\nReason: user unknown\nRecipient: c@them.test',
      ['a@them.test failed', 'c@them.test failed'],
    ],
    ['delivered, in French', 'Votre message a bien été remis aux destinataires suivants :\n\n  <a@them.test>', ['a@them.test delivered']],
    [
      'one that was delivered',
      'The message was delivered to:\n  a@them.test\n\nIt could not be delivered to:\n  c@them.test: user unknown',
      ['a@them.test delivered', 'c@them.test failed hard'],
    ],
    [
      'one of two, nobody knows which',
      'Delivery to a@them.test and c@them.test failed: one of the users is unknown.',
      ['a@them.test failed', 'c@them.test failed'],
    ],
    [
      'a reply of its own for one',
      'Fatal errors:\n<a@them.test>\nc@them.test\n\n550 <a@them.test>... Host unknown (Name server: them.test: host not found)\n... while talking to mx.test:\n>>> MAIL From:<b@us.test>\n<<< 552 5.3.4 Message too big\n554 c@them.test... Service unavailable',
      ['a@them.test failed hard', 'c@them.test failed'],
    ],
    [
      'a reply that begins with a label',
      'Failed:\n\n  a@them.test\n    after RCPT TO:<a@them.test>:\n    host mx.test: 550 Unknown user: a@them.test\n  c@them.test\n    mailbox is full',
      ['a@them.test failed hard', 'c@them.test failed'],
    ],
    [
      'a reason of the last one only',
      'Failed:\n\na@them.test\nc@them.test\n  user unknown',
      ['a@them.test failed', 'c@them.test failed hard'],
    ],
  ])('%s', (_, content, expected) => expect(recipients(content, { subject: 'Undelivered mail' })).toEqual(expected))
})

describe('the last command of a dialogue counts', () => {
  const dialogue = (prefix: string, sent: string, received: string, last: string[]): string =>
    [
      `${sent} EHLO us.test`,
      `${received} 250-them.test`,
      `${received} 250 SIZE 9`,
      `${sent} MAIL From:<b@us.test>`,
      `${received} 250 OK`,
      `${sent} RCPT To:<a@them.test>`,
    ]
      .concat(last, `${sent} QUIT`)
      .map((line) => ` ${prefix}${line}`)
      .join('\n')
  const forms = [
    ['Fri 2015-03-02 10:00:00: [12:1] ', '-->', '<--'],
    ['', '>>>', '<<<'],
    ['', '<<<', '>>>'],
    ['10:00:00 ', '=>', '<='],
    ['', 'C:', 'S:'],
    ['[10:00:00] ', 'Sent:', 'Received:'],
    ['', 'SMTP>>', 'SMTP<<'],
    ['', '<<-', '->>'],
  ] as const

  it.each(forms)('%s%s and %s', (prefix, sent, received) => {
    const said = (last: string[]): string[] =>
      recipients(`Failed address: a@them.test\n\n--- Session Transcript ---\n${dialogue(prefix, sent, received, last)}`)
    expect(said([`${received} 550 No such user here`])).toEqual(['a@them.test failed hard'])
    expect(said([`${received} 550-sorry`, `${received} 550 No such user here`])).toEqual(['a@them.test failed hard'])
    expect(said([`${received} 250 OK`, `${sent} DATA`, `${received} 354 go`, `${received} 550 No such user here`])).toEqual([
      'a@them.test failed',
    ])
    expect(said([`${received} 250 OK`, `${sent} DATA`, `${received} 550 No such user here`])).toEqual(['a@them.test failed'])
  })
})

describe('a dialogue quoted by Sendmail', () => {
  const sendmail = (...said: string[]): string[] =>
    recipients(
      [
        '   ----- The following addresses had permanent fatal errors -----',
        '<a@them.test>',
        '<c@other.test>',
        '',
        '   ----- Transcript of session follows -----',
        ...said,
      ].join('\n'),
    )

  it.each<[string, string[], string[]]>([
    [
      'what it says itself to every 550',
      ['>>> RCPT To:<a@them.test>', '<<< 550 5.7.1 <a@them.test>... Blocked', '550 5.1.1 <a@them.test>... User unknown'],
      ['a@them.test failed', 'c@other.test failed'],
    ],
    [
      'what it says itself to every 554',
      [
        '>>> RCPT To:<a@them.test>',
        '<<< 550 #5.1.0 Address rejected',
        '550 5.1.1 <a@them.test>... User unknown',
        '554 5.0.0 Service unavailable',
      ],
      ['a@them.test failed hard', 'c@other.test failed'],
    ],
    [
      'but not what it found out itself of another',
      [
        '>>> RCPT To:<a@them.test>',
        '<<< 550 5.7.1 <a@them.test>... Blocked',
        '550 5.1.1 <a@them.test>... User unknown',
        '550 5.1.2 <c@other.test>... Host unknown',
      ],
      ['a@them.test failed', 'c@other.test failed hard'],
    ],
  ])('leaves out %s', (_, said, expected) => expect(sendmail(...said)).toEqual(expected))
})

describe("the reporting system's own finding about a domain", () => {
  it.each([
    'an MX or SRV record indicated no SMTP service',
    'There are no DNS entries for the hostname them.test. I cannot determine where to send this message.',
    "No mail servers appear to exist for the recipient's address.",
    'ponieważ domena them.test nie istnieje.',
    'Die Domain them.test existiert nicht.',
    "Le domaine them.test n'existe pas.",
    'El dominio them.test no existe.',
    'O domínio them.test não foi encontrado.',
    'Il dominio them.test non esiste.',
    'Het domein them.test bestaat niet.',
    'Домен them.test не существует.',
    'Domänen them.test finns inte.',
    '域名 them.test 不存在',
    'ドメイン them.test は存在しません',
    'them.test 도메인이 존재하지 않습니다',
  ])('%s', (reason) => expect(recipients(`Delivery failed:\n\n<a@them.test>:\n  ${reason}`)).toEqual(['a@them.test failed hard']))

  it.each([
    'host mx.them.test said: 550 Domain not found',
    'host mx.them.test said: 550 5.7.27 <b@us.test>: Sender address rejected: Domain us.test does not accept mail (nullMX) (in reply to RCPT TO command)',
    'host mx.them.test said: 550 Domena nadawcy us.test nie istnieje (in reply to RCPT TO command)',
    'host mx.them.test said: 550 Die Domain des Absenders existiert nicht (in reply to RCPT TO command)',
    'host mx.them.test said: 550 5.1.1 <a@them.test>: Recipient address rejected: undeliverable address: mail for them.test loops back to myself (in reply to RCPT TO command)',
    'The domain them.test does not exist, or the name server is temporarily unavailable. Try again later.',
  ])('soft: %s', (reason) => expect(recipients(`Delivery failed:\n\n<a@them.test>:\n  ${reason}`)).toEqual(['a@them.test failed']))
})

describe('notices to a mailbox owner or operator name nobody', () => {
  it.each([
    ['Mail quota warning', 'Your mailbox is now more than 90% full. When it is full, mail for a@them.test will be returned.'],
    ['Your mailbox is over its size limit', 'Your mailbox has exceeded its size limit. Mail to a@them.test will be rejected.'],
    ['Warnung', 'Ihr Postfach a@them.test ist zu 95 % belegt. Neue Mails können bald nicht mehr zugestellt werden.'],
    ['Avertissement', 'Votre boîte a@them.test est presque pleine. Les messages ne pourront plus être remis.'],
    ['Virus Alert', 'A virus was found in a message addressed to you.\n\nFrom: x@elsewhere.test\nTo: a@them.test\nAction: deleted'],
    ['Virus detected', 'Notification to the administrator: infected mail was blocked.\nRecipient: a@them.test'],
    [
      'Virus gefunden',
      'In einer an Sie gerichteten E-Mail wurde ein Virus gefunden. Sie wurde nicht zugestellt.\nVon: x@elsewhere.test\nAn: a@them.test',
    ],
    ['Message blocked', 'A message sent to you was placed in quarantine.\nTo: a@them.test\nReason: spam'],
    ['Quota', 'Ваш почтовый ящик a@them.test почти заполнен. Новые письма не будут доставлены.'],
    [
      'VIRUS IN MAIL TO YOU',
      'VIRUS ALERT\n\nOur content checker found a virus in an email to you from <x@elsewhere.test>.\nSubject of the mail was: Mail Delivery (failure a@them.test)',
    ],
    [
      'Quarantine summary: 2 messages not delivered to you',
      'The following messages were addressed to you@us.test and are held in quarantine:\n\n 1. x@elsewhere.test  "Delivery failed"\n 2. a@them.test "Transfer"',
    ],
    ['邮箱容量提醒', '您的邮箱 a@them.test 即将满，新邮件将被退回。'],
  ])('%s: %s', (subject, content) => expect(recipients(content, { subject })).toEqual([]))

  it.each([
    ['Virus detected', 'Your message to a@them.test contained a virus and was not delivered. Your mailbox is nearly full.'],
    ['Обнаружен вирус', 'Ваше письмо для <a@them.test> содержит вирус и не было доставлено.'],
    ['Undelivered mail', '<a@them.test>: host mx.them.test said: 552 your mailbox is nearly full'],
  ])('unless the sender is known: %s', (subject, content) => expect(recipients(content, { subject })).toEqual(['a@them.test failed']))
})

test('nothing is hard without an address, whatever the text says', () => {
  const lines = fc.constantFrom(
    '<a@b.test>: user unknown',
    '',
    '   ----- Transcript of session follows -----',
    '>>> RCPT To:<a@b.test>',
    '<<< 550 no',
    '@',
    'To: <',
    'will be retried',
  )
  const content = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 2000 }),
    fc.array(lines, { maxLength: 60 }).map((some) => some.join('\n')),
  )
  fc.assert(
    fc.property(content, fc.constantFrom('text/plain', 'text/html', 'message/rfc822', 'message/delivery-status'), (text, contentType) => {
      for (const { address, reason } of parseBounceText(notice('', {}, { contentType, content: text }))) {
        expect(address).toContain('@')
        expect(reason.length).toBeLessThanOrEqual(1000)
      }
    }),
  )
})

test.each<[string, string, string[]]>([
  [
    'a refusal quoted in the original',
    'Delivery failed:\n\n  anna@them.test\n    mailbox is over quota\n\nOriginal message:\n\n> 550 5.1.1 <anna@them.test>: user unknown\n',
    ['anna@them.test failed'],
  ],
  [
    'the subject of the original',
    'Delivery failed:\n\n  anna@them.test\n    user unknown\n\nOriginal message:\n\nTo: anna@them.test\nSubject: Your mailbox is full\n',
    ['anna@them.test failed hard'],
  ],
])('%s says nothing about the recipient', (_, content, expected) => {
  expect(recipients(content)).toEqual(expected)
})

test('a rule for a host applies to the domains of its customers', () => {
  const content =
    'A message that you sent could not be delivered to one or more of its recipients. This is a permanent error.\n\n' +
    '  anna@custom.test\n    host mx00.ionos.de [192.0.2.1]\n    SMTP error from remote mail server after RCPT TO:<anna@custom.test>:\n' +
    '    550 Requested action not taken: mailbox unavailable\n'
  expect(recipients(content)).toEqual(['anna@custom.test failed hard'])
})
