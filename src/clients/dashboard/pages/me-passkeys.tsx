import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Passkey } from '../api/types.ts'
import { browserName } from '../browser-name.ts'
import { shortDate } from '../format.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { Button, AskButton } from '../parts/button.tsx'
import { CurrentPassword } from '../parts/current-password.tsx'
import { Dialog, ConfirmButton } from '../parts/dialog.tsx'
import { Field, useFields } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Panel } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { Age } from '../parts/time.tsx'
import { makePasskey, usePasskeysWork } from '../show-passkey.ts'
import { t } from '../texts/texts.ts'

/** The user's passkeys; nothing where passkeys cannot work. */
export const Passkeys = () => (usePasskeysWork() ? <Kept /> : null)

function Kept() {
  const passkeys = useApi<List<Passkey>>('/session/passkeys')
  const [isAdding, setAdding] = useState(false)
  const add = <Button look="small" text={t.passkeys.add} onClick={() => setAdding(true)} />
  return (
    <Panel heading={t.passkeys.heading} text={t.passkeys.text} aside={!isAdding && add}>
      {isAdding && <Add onDone={() => setAdding(false)} />}
      <Answer of={passkeys} rows={2}>
        {({ data }) => (data.length === 0 ? <Empty text={t.passkeys.none} /> : <Rows rows={data} columns={columns()} />)}
      </Answer>
    </Panel>
  )
}

const columns = (): Column<Passkey>[] => [
  { head: t.common.name, kind: 'title', cell: ({ name }) => name },
  { head: t.common.added, kind: 'quiet', cell: ({ created_at: at }) => shortDate(at) },
  { head: t.common.lastUsed, kind: 'quiet', cell: ({ last_used_at: at }) => <Age of={at} /> },
  {
    head: '',
    cell: (passkey) => (
      <div class="acts end">
        <AskButton look="small" text={t.passkeys.rename} dialog={(close) => <Rename passkey={passkey} onClose={close} />} />
        <ConfirmButton
          look="small"
          text={t.common.remove}
          heading={t.common.removeOf(passkey.name)}
          says={t.passkeys.removeText}
          run={() => call(`/session/passkeys/${passkey.id}`, { method: 'DELETE' }).then(changed)}
        />
      </div>
    ),
  },
]

const changed = (): void => invalidate('/session/passkeys')

function Add({ onDone }: { onDone(): void }) {
  const { values, field } = useFields({ password: '', name: browserName(navigator.userAgent) })
  const add = async (): Promise<void> => {
    await makePasskey(values.password, values.name)
    changed()
    onDone()
  }
  const faults = {
    invalid_credentials: t.me.wrongPassword,
    passkey_canceled: t.passkeys.canceled,
    passkey_known: t.passkeys.known,
  }
  return (
    <div class="body">
      <Form
        main="password"
        button={t.common.continue}
        run={add}
        disabled={values.password === '' || values.name.trim() === ''}
        others={<Button text={t.common.cancel} onClick={onDone} />}
        faults={faults}
      >
        <CurrentPassword {...field('password')} hint={t.me.whyPassword} />
        <Field {...field('name')} label={t.common.name} hint={t.passkeys.nameHint} maxLength={100} />
      </Form>
    </div>
  )
}

function Rename({ passkey, onClose }: { passkey: Passkey; onClose(): void }) {
  const { values, field } = useFields({ name: passkey.name })
  const rename = (): Promise<void> => call(`/session/passkeys/${passkey.id}`, { method: 'PATCH', body: values }).then(changed)
  const title = t.passkeys.rename
  return (
    <Dialog main="name" heading={title} button={title} run={rename} onClose={onClose} disabled={values.name.trim() === ''}>
      <Field {...field('name')} label={t.common.name} maxLength={100} />
    </Dialog>
  )
}
