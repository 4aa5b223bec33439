import { expect, test } from 'vitest'
import { relyingPartyOf } from '../../../src/senders/account/relying-party.ts'

test.each([
  ['https://mail.example.com', { id: 'mail.example.com', origin: 'https://mail.example.com' }],
  ['https://mail.example.com:8443/mail', { id: 'mail.example.com', origin: 'https://mail.example.com:8443' }],
  ['http://localhost:8080', { id: 'localhost', origin: 'http://localhost:8080' }],
  ['http://mail.example.com', null],
  ['http://127.0.0.1:8080', null],
  ['https://192.0.2.1', null],
  ['https://[2001:db8::1]', null],
])('passkeys at %s', (baseUrl, party) => {
  expect(relyingPartyOf(baseUrl)).toEqual(party)
})
