import { useEffect, useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Passkey } from '../api/types.ts'
import { browserName } from '../browser-name.ts'
import { shortDate } from '../format.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { CurrentPassword } from '../parts/current-password.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Panel } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { Age } from '../parts/time.tsx'
import { makePasskey, passkeysWork } from '../show-passkey.ts'
import { t } from '../texts/texts.ts'

type Asked = { what: 'rename' | 'remove'; passkey: Passkey } | null

/** The user's passkeys; nothing where passkeys cannot work. */
export function Passkeys() {
  const [work, setWork] = useState(false)
  useEffect(() => void passkeysWork().then(setWork, () => {}), [])
  return work ? <Kept /> : null
}

function Kept() {
  const passkeys = useApi<List<Passkey>>('/session/passkeys')
  const [isAdding, setAdding] = useState(false)
  const [asked, setAsked] = useState<Asked>(null)
  const close = (): void => setAsked(null)
  const add = (
    <button class="btn small" type="button" onClick={() => setAdding(true)}>
      {t.passkeys.add}
    </button>
  )
  return (
    <Panel heading={t.passkeys.heading} text={t.passkeys.text} aside={!isAdding && add}>
      {isAdding && <Add onDone={() => setAdding(false)} />}
      <Answer of={passkeys} rows={2}>
        {({ data }) =>
          data.length === 0 ? <Empty text={t.passkeys.none} /> : <Rows rows={data} columns={columnsWith(setAsked)} keyOf={({ id }) => id} />
        }
      </Answer>
      {asked?.what === 'rename' && <Rename passkey={asked.passkey} onClose={close} />}
      {asked?.what === 'remove' && <Remove passkey={asked.passkey} onClose={close} />}
    </Panel>
  )
}

const columnsWith = (onAsk: (asked: Asked) => void): Column<Passkey>[] => [
  { head: t.common.name, kind: 'title', cell: ({ name }) => name },
  { head: t.common.added, kind: 'quiet', cell: ({ created_at: at }) => shortDate(at) },
  { head: t.common.lastUsed, kind: 'quiet', cell: ({ last_used_at: at }) => <Age of={at} /> },
  {
    head: '',
    cell: (passkey) => (
      <div class="acts end">
        <button class="btn small" type="button" onClick={() => onAsk({ what: 'rename', passkey })}>
          {t.passkeys.rename}
        </button>
        <button class="btn small" type="button" onClick={() => onAsk({ what: 'remove', passkey })}>
          {t.common.remove}
        </button>
      </div>
    ),
  },
]

const changed = (): void => invalidate('/session/passkeys')

function Add({ onDone }: { onDone(): void }) {
  const [password, setPassword] = useState('')
  const [name, setName] = useState(browserName(navigator.userAgent))
  const add = async (): Promise<void> => {
    await makePasskey(password, name)
    changed()
    onDone()
  }
  const cancel = (
    <button class="btn" type="button" onClick={onDone}>
      {t.common.cancel}
    </button>
  )
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
        disabled={password === '' || name.trim() === ''}
        others={cancel}
        faults={faults}
      >
        <CurrentPassword hint={t.me.whyPassword} value={password} onValue={setPassword} />
        <Field
          name="name"
          label={t.common.name}
          hint={t.passkeys.nameHint}
          maxLength={100}
          autocomplete="off"
          value={name}
          onValue={setName}
        />
      </Form>
    </div>
  )
}

function Rename({ passkey, onClose }: { passkey: Passkey; onClose(): void }) {
  const [name, setName] = useState(passkey.name)
  const rename = async (): Promise<void> => {
    await call(`/session/passkeys/${passkey.id}`, { method: 'PATCH', body: { name } })
    changed()
  }
  return (
    <Dialog main="name" heading={t.passkeys.rename} button={t.passkeys.rename} run={rename} onClose={onClose} disabled={name.trim() === ''}>
      <Field name="name" label={t.common.name} maxLength={100} autocomplete="off" value={name} onValue={setName} />
    </Dialog>
  )
}

function Remove({ passkey, onClose }: { passkey: Passkey; onClose(): void }) {
  const remove = async (): Promise<void> => {
    await call(`/session/passkeys/${passkey.id}`, { method: 'DELETE' })
    changed()
  }
  return (
    <Dialog heading={t.common.removeOf(passkey.name)} button={t.common.remove} run={remove} onClose={onClose}>
      <p>{t.passkeys.removeText}</p>
    </Dialog>
  )
}
