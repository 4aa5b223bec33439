import { expect, it } from 'vitest'
import { reportedAddress } from '../../../src/mail/bounce-parser/reported-address.ts'

it.each([
  ['rfc822; user@example.com', 'user@example.com'],
  ['RFC822;user@example.com', 'user@example.com'],
  ['rfc822; <User@Example.com>', 'User@Example.com'],
  ['rfc822; user@example.com (the user)', 'user@example.com'],
  ['rfc822; "The User" <user@example.com>', 'user@example.com'],
  ['rfc822; "a b"@example.com', '"a b"@example.com'],
  ['user@example.com', 'user@example.com'],
  ['<user@example.com>', 'user@example.com'],
  ['mailto:user@example.com', 'user@example.com'],
  ['rfc822; @relay.example:user@example.com', 'user@example.com'],
  ['x-local; user', 'user'],
  ['rfc822; user@example.com,', 'user@example.com'],
  ['rfc822; user@example.com.', 'user@example.com'],
  ['rfc822; user@example.com Some User', 'user@example.com'],
  ['x400; /G=User/O=Example/', '/G=User/O=Example/'],
  ['rfc822; user+tag@example.com', 'user+tag@example.com'],
  ['rfc822; user+2Btag@example.com', 'user+tag@example.com'],
  ['rfc822; user+3D1@example.com', 'user=1@example.com'],
  ['rfc822; user+2B+shop@example.com', 'user+2B+shop@example.com'],
  ['rfc822; user+AB@example.com', 'user+AB@example.com'],
  ['utf-8; j\\x{FC}rgen@example.com', 'jürgen@example.com'],
  ['utf-8; \\x{1F600}@example.com', '😀@example.com'],
  ['utf-8; \\x{D800}\\x{FFFFFF}@example.com', '\\x{D800}\\x{FFFFFF}@example.com'],
  ['rfc822; j\\x{FC}rgen@example.com', 'j\\x{FC}rgen@example.com'],
  ['rfc822; <>', null],
  ['rfc822;', null],
  ['', null],
  ['rfc822; @mx.example.com', null],
])('%s', (value, address) => {
  expect(reportedAddress(value)).toBe(address)
})
