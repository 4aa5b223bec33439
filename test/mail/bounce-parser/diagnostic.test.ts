import { expect, it } from 'vitest'
import { parseDiagnostic } from '../../../src/mail/bounce-parser/diagnostic.ts'

it.each([
  ['smtp; 550 5.1.1 <a@b.example>: User unknown', 550, '5.1.1', '550 5.1.1 <a@b.example>: User unknown'],
  [
    'smtp;550-5.1.1 The account does not exist 550 5.1.1 see below',
    550,
    '5.1.1',
    '550-5.1.1 The account does not exist 550 5.1.1 see below',
  ],
  ['X-Postfix; host mx.b.example[192.0.2.1] said: 452 4.2.2 full', 452, '4.2.2', 'host mx.b.example[192.0.2.1] said: 452 4.2.2 full'],
  [
    'X-Postfix; connect to mx.b.example[192.0.2.1]:25: Connection refused',
    null,
    null,
    'connect to mx.b.example[192.0.2.1]:25: Connection refused',
  ],
  ['smtp; 550 #5.1.0 Address rejected.', 550, '5.1.0', '550 #5.1.0 Address rejected.'],
  ['Sorry, no mailbox here by that name. (#5.1.1)', null, '5.1.1', 'Sorry, no mailbox here by that name. (#5.1.1)'],
  ['smtp; 550 5.0.350 Remote server returned an error -> 550 5.2.2 full', 550, '5.2.2', '550 5.2.2 full'],
  [
    '[[127.0.0.1]:10035] said: 551 5.1.0 id=03824-03 - Rejected by next-hop MTA on relaying, from MTA(smtp:[127.0.0.1]:10035): 551 User not local',
    551,
    null,
    '551 User not local',
  ],
  ['smtp; 550 5.7.1 id=23120-01, from MTA(smtp:[127.0.0.1]:10025): 550 5.1.1 User unknown', 550, '5.1.1', '550 5.1.1 User unknown'],
  [
    'smtp; 550 5.1.1 <a@b.example>: Recipient address rejected: undeliverable address: host mx.b.example[192.0.2.1] said: 552 5.2.2 full',
    552,
    '5.2.2',
    '552 5.2.2 full',
  ],
  [
    'smtp; 553 5.1.8 <a@b.example>: Sender address rejected: undeliverable address: host mx.b.example said: 550 5.1.1 no',
    553,
    '5.1.8',
    '553 5.1.8 <a@b.example>: Sender address rejected: undeliverable address: host mx.b.example said: 550 5.1.1 no',
  ],
  [
    'smtp; 550 5.1.0 <a@b.example>: Sender address rejected: undeliverable address: host c said: 550 5.1.1 Recipient address rejected: undeliverable address: host d said: 550 no',
    550,
    '5.1.0',
    '550 5.1.0 <a@b.example>: Sender address rejected: undeliverable address: host c said: 550 5.1.1 Recipient address rejected: undeliverable address: host d said: 550 no',
  ],
  ['mx.b.example [203.0.113.222] said: 550 no', 550, null, 'mx.b.example [203.0.113.222] said: 550 no'],
  ['server [203.0.113.222] is away', null, null, 'server [203.0.113.222] is away'],
  ['x-unix; unknown user', null, null, 'unknown user'],
  ['smtp; 550 4.2.2 contradictory', 550, null, '550 4.2.2 contradictory'],
  ['smtp; blocked: 5.7.1.9 is listed, 192.0.2.5.1.1', null, null, 'blocked: 5.7.1.9 is listed, 192.0.2.5.1.1'],
  ['smtp; after 500 seconds', null, null, 'after 500 seconds'],
  ['', null, null, ''],
])('%s', (said, code, enhancedStatus, text) => {
  expect(parseDiagnostic(said)).toEqual({ code, enhancedStatus, text })
})
