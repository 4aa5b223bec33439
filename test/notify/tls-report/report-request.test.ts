import { expect, test } from 'vitest'
import { mailboxOf, reportAddresses } from '../../../src/notify/tls-report/report-request.ts'

test.each<[string[], string[]]>([
  // The examples of RFC 8460 3.1.
  [['v=TLSRPTv1;rua=mailto:reports@example.com'], ['mailto:reports@example.com']],
  [['v=TLSRPTv1; rua=https://reporting.example.com/v1/tlsrpt'], ['https://reporting.example.com/v1/tlsrpt']],
  [['v=TLSRPTv1; rua=mailto:a@b.example, https://c.example/'], ['mailto:a@b.example', 'https://c.example/']],
  [['v=spf1 -all', 'v=TLSRPTv1;ext=1;rua=mailto:a@b.example;'], ['mailto:a@b.example']],
  [['v=TLSRPTv1; rua=mailto:a%2Cb@c.example'], []],
  [['v=TLSRPTv1; rua=http://c.example/,ftp://c.example,mailto:,https://u:p@c.example/,x'], []],
  [['v=TLSRPTv1; rua=mailto:a@b.example', 'v=TLSRPTv1; rua=mailto:c@d.example'], []],
  [['v=TLSRPTv2; rua=mailto:a@b.example'], []],
  [['v=TLSRPTv1'], []],
  [[], []],
  [
    [`v=TLSRPTv1; rua=${[1, 2, 3, 4, 5].map((n) => `mailto:a@b${n}.example`).join(',')}`],
    [1, 2, 3, 4].map((n) => `mailto:a@b${n}.example`),
  ],
])('reports are to go, by %j, to %j', (texts, addresses) => expect(reportAddresses(texts)).toEqual(addresses))

test.each([
  ['mailto:a@b.example', 'a@b.example'],
  ['MAILTO:a%2Bc@b.example?subject=x', 'a+c@b.example'],
  ['mailto:a@b.example,c@d.example', null],
  ['mailto:%E0%A4%A@b.example', null],
  // As policies and routes of mail know it.
  ['mailto:Reports@Bank.EXAMPLE', 'Reports@bank.example'],
  ['mailto:a@b%C3%BCcher.example', 'a@xn--bcher-kva.example'],
  ['mailto:a@[10.0.0.1]', null],
  ['mailto:a%00b@c.example', null],
  ['mailto:a%0D%0Ab@c.example', null],
  ['https://a@b.example', null],
])('the mailbox of %s is %s', (uri, mailbox) => expect(mailboxOf(uri)).toBe(mailbox))
