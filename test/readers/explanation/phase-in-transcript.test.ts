import { expect, test } from 'vitest'
import { phaseInTranscript } from '../../../src/readers/explanation/phase-in-transcript.ts'

const transcript = (...lines: string[]): string => JSON.stringify(lines.map((line, ms) => [ms, /^\d{3}[ -]/.test(line) ? 's' : 'c', line]))

const host = '(mx.b.example 192.0.2.1:25)'
const greeting = [host, '220 mx.b.example', 'EHLO relay.example', '250 mx.b.example PIPELINING', '(TLSv1.3 AES)']
const ahead = ['MAIL FROM:<b@relay.example>', 'RCPT TO:<a@b.example>', 'DATA']

test.each([
  ['banner', '554 5.7.1 No service', [host, '554 5.7.1 No service']],
  ['banner', '554 no', [host, 'EHLO x', '554-no', '554 service'].toSpliced(1, 1)],
  ['ehlo', '550 no', [host, '220 hello', 'EHLO x', '502 what', 'HELO x', '550 no']],
  ['ehlo', '535 no', [...greeting, 'AUTH PLAIN', '535 no']],
  ['mail', '554 no', [...greeting, ...ahead, '554 no', '554 no', '554 no']],
  ['rcpt', '550 no such user', [...greeting, ...ahead, '250 ok', '550-no', '550 such user', '503 no recipients']],
  ['rcpt', '550 no', ['(mx.b.example 192.0.2.1:25 from 192.0.2.9, connection reused)', 'RSET', ...ahead, '250 ok', '250 ok', '550 no']],
  ['data', '451 later', [...greeting, ...ahead, '250 ok', '250 ok', '451 later']],
  ['dot', '554 failed', [...greeting, ...ahead, '250 ok', '250 ok', '354 go', '(1000 bytes)', '554 failed']],
  ['dot', `554 ${'x'.repeat(500)}`, [...greeting, ...ahead, '250 ok', '250 ok', '354 go', '(9 bytes)', `554 ${'x'.repeat(396)}`]],
  ['banner', '554 no', [...greeting, ...ahead, '250 ok', '(mx2.b.example [2001:db8::1]:25)', '554 no']],
  [null, '550 said elsewhere', [...greeting, ...ahead, '250 ok', '550 no']],
  [null, '550 erased', []],
])('the phase %s is that of "%s"', (phase, reply, lines) => {
  expect(phaseInTranscript(transcript(...lines), reply)).toBe(phase)
})
