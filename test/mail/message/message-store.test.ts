import { expect, test } from 'vitest'
import { storedEnvelope } from '../../../src/mail/message/envelope.ts'
import { storedHeader } from '../../../src/mail/message/header-summary.ts'
import { insertMessage, messageRow, type MessageRow } from '../../../src/mail/message/message-store.ts'
import { storedOptions } from '../../../src/mail/message/send-options.ts'
import { submissionTo } from '../../support/submission-fixture.ts'
import { testDatabase } from '../../support/test-database.ts'

test('what is stored of a message reads back as it was submitted', async () => {
  const db = await testDatabase()
  await db.write([{ sql: "insert into account (id, name, plan, status, created_at) values ('acc_1', 'one', 'free', 'active', 0)" }])
  const { header, ...submission } = submissionTo(['ann@rcpt.example'], {
    envelope: { reversePath: 'app@sender.example', bodyType: '8bitmime', smtputf8: true, envid: 'job+2B7', ret: 'hdrs' },
    header: { ccText: ['Bob <bob@rcpt.example>'], replyToText: ['reply@sender.example'], subject: 'Grüße' },
    options: {
      tags: [{ name: 'kind', value: 'receipt' }],
      metadata: { order: '7' },
      templateId: 'tpl_1',
      unsubscribeTopic: '',
      tracking: { opens: true, clicks: false, anonymous: true },
      scheduledAt: 1_000,
      expiresIn: 600,
    },
  })
  await db.write(
    insertMessage(
      messageRow({ header, ...submission }, { domainId: null, tracking: submission.options.tracking, now: 5 }),
      submission.options,
    ),
  )
  const [row] = await db.read<MessageRow>('select * from message')
  if (!row) expect.unreachable()
  const { envelope } = submission
  expect({ ...storedEnvelope(row), recipients: envelope.recipients }).toEqual(envelope)
  expect(storedHeader(row, header)).toEqual(header)
  expect(storedOptions(row)).toEqual(submission.options)
  expect(row).toMatchObject({ account_id: 'acc_1', source: 'api', sandbox: 0, size: submission.content.size, created_at: 5 })
  expect(await db.read('select name, value from message_tag')).toEqual([{ name: 'kind', value: 'receipt' }])
})
