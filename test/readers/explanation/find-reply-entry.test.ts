import { expect, test } from 'vitest'
import { mxProviderOf } from '../../../src/mail-out/delivery/mx-provider.ts'
import { readReplyLine } from '../../../src/clients/command/reply-line.ts'
import { findReplyEntry } from '../../../src/readers/explanation/find-reply-entry.ts'
import { replyEntries } from '../../../src/readers/explanation/reply-entries.ts'
import { replyExamples } from './reply-examples.ts'

function entryFor(host: string | null, phase: string | null, text: string): string | undefined {
  const { reply, phase: read } = readReplyLine(JSON.stringify({ host, phase, reply: text }), 'here')
  return findReplyEntry({ ...reply, phase: read, provider: host === null ? null : mxProviderOf(host) })?.id
}

test('each entry has an id of its own and an example', () => {
  expect(Object.keys(replyExamples).toSorted()).toEqual(replyEntries.map(({ id }) => id).toSorted())
})

test.each(Object.entries(replyExamples))('%s decides its example', (id, [host, phase, reply]) => {
  expect(entryFor(host, phase, reply)).toBe(id)
})

test('no pattern repeats without a bound, so the time for a text is in proportion to its length', () => {
  const unbounded = /(?<!\\)(?:[*+]|\{\d+,\})/
  expect(replyEntries.filter(({ words }) => words !== undefined && unbounded.test(words.source)).map(({ id }) => id)).toEqual([])
})

test.each([
  ['550 5.1.1 <%s>: Recipient address rejected: User unknown in virtual mailbox table', 'unknown-recipient'],
  ['550 5.1.1 %s... User unknown', 'unknown-recipient'],
  ['550-5.1.1 rfc822;%s\n550 5.1.1 User unknown, see https://b.example/why?id=%s&ip=192.0.2.1', 'unknown-recipient'],
  ['552 5.2.2 <%s> mailbox full', 'mailbox-full'],
])('an address in "%s" does not decide', (text, id) => {
  const addresses =
    'info@modul.de info@schedul.io a@dul.example john@arc.nasa.gov x@spoof.it x@ptr.example a@dbl.example max@malformed.example x@arc.org spf@b.example'
  for (const address of [...addresses.split(' '), 'postgrey@b.example', "o'dkim@b.example"])
    expect([address, entryFor('mx.b.example', 'rcpt', text.replaceAll('%s', address))]).toEqual([address, id])
})

test.each([
  ['550 5.1.1 User unknown at %s', 'unknown-recipient'],
  ['450 4.7.1 <%s>: Helo command rejected: Host not found', 'host-name'],
  ['450 4.7.1 %s: Helo command rejected: Host not found', 'host-name'],
  ['554 5.7.1 <%s[192.0.2.1]>: Client host rejected: Access denied', 'ip-listed'],
])('a host name in "%s" does not decide', (text, id) => {
  for (const name of 'arc.nasa.gov mail.arc.org arc-mx.example spoof.it mx.ptr.example dbl.example dul.example malformed.example prx1.example'.split(
    ' ',
  ))
    expect([name, entryFor('mx.b.example', 'rcpt', text.replaceAll('%s', name))]).toEqual([name, id])
})

test.each([
  ['554 5.7.1 Blocked using dul.dnsbl.sorbs.net', 'dynamic-address'],
  ['554 5.7.1 <shop.example> blocked using key.dbl.dq.spamhaus.net', 'domain-listed'],
  ['550 5.7.1 <a@b.example>: SPF-check failed, see http://www.openspf.net/Why?s=mfrom&id=a@b.example', 'authentication'],
  ['550 5.7.1 Please see http://www.openspf.net/Why?s=mfrom&id=a%40b.example', 'authentication'],
  ['550 5.7.25 <a@b.example>: no PTR. Add one', 'reverse-dns'],
  ['554 Contact tosa@rx.t-online.de', 'tonline-listed'],
])('"%s" still tells, beside names and addresses', (text, id) => {
  expect(entryFor('mx.b.example', 'rcpt', text)).toBe(id)
})

test.each([
  ['rcpt', '450 4.2.0 Please try again in 5 minutes', 'again-at-rcpt'],
  [null, '451 Try again in 300 seconds', 'again-at-rcpt'],
  ['rcpt', '450 4.2.1 Too many messages, try again in 5 minutes', 'rate'],
  ['mail', '451 4.7.1 Please try again in 5 minutes', 'again'],
])('at %s "%s" is %s', (phase, text, id) => {
  expect(entryFor('mx.b.example', phase, text)).toBe(id)
})
