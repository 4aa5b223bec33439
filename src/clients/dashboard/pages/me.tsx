import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call, loadSession, session } from '../api/client.ts'
import type { List, SessionItem } from '../api/types.ts'
import { browserName } from '../browser-name.ts'
import { shortDate } from '../format.ts'
import { Answer } from '../parts/answer.tsx'
import { Button, AskButton, ActionButton } from '../parts/button.tsx'
import { CurrentPassword } from '../parts/current-password.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Switch, useFields } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Note, Page, Panel } from '../parts/page.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { SecondFactorSetup } from '../parts/second-factor.tsx'
import { Age } from '../parts/time.tsx'
import { shortcutsAreOn, turnShortcuts } from '../shortcuts.ts'
import { chooseLanguage, language, languages, t } from '../texts/texts.ts'
import { chooseTheme, theme, themes } from '../theme.ts'
import { Passkeys } from './me-passkeys.tsx'

const minPasswordLength = 10

/** How the user logs in, and from where; and how this browser shows the dashboard. */
export default function Me() {
  const user = session.value?.user
  if (!user) return null
  return (
    <Page
      narrow
      heading={t.me.title}
      sub={
        <>
          {user.email} <span class="muted">{t.roles[user.role] ?? user.role}</span>
        </>
      }
    >
      <Password />
      <SecondFactor isOn={user.second_factor} />
      <Passkeys />
      <Sessions />
      <ThisBrowser />
    </Page>
  )
}

function Password() {
  const { values, field, setValues } = useFields({ password: '', new_password: '' })
  const [isChanged, setChanged] = useState(false)
  const change = async (): Promise<void> => {
    setChanged(false)
    await call('/session/password', { method: 'POST', body: values })
    setValues({ password: '', new_password: '' })
    setChanged(true)
    invalidate('/session/all')
  }
  return (
    <Panel heading={t.login.password}>
      <div class="body stack">
        {isChanged && (
          <Note tone="ok">
            <p role="status">
              <b>{t.me.passwordChanged}</b> {t.me.othersEnded}
            </p>
          </Note>
        )}
        <Form
          button={t.me.changePassword}
          run={change}
          disabled={values.password === '' || [...values.new_password].length < minPasswordLength}
          faults={{ invalid_credentials: t.me.wrongPassword }}
          main="password"
        >
          <CurrentPassword {...field('password')} />
          <Field
            {...field('new_password')}
            label={t.me.newPassword}
            type="password"
            autocomplete="new-password"
            hint={t.me.newPasswordHint(minPasswordLength)}
          />
        </Form>
      </div>
    </Panel>
  )
}

function SecondFactor({ isOn }: { isOn: boolean }) {
  const [isSettingUp, setSettingUp] = useState(false)
  return (
    <Panel heading={t.secondFactor.heading} text={isOn ? t.secondFactor.isAsked : t.secondFactor.isNotAsked}>
      <div class="body">
        {isSettingUp ? (
          <SecondFactorSetup onDone={() => setSettingUp(false)} />
        ) : isOn ? (
          <AskButton text={t.secondFactor.turnOff} dialog={(close) => <TurnOff onClose={close} />} />
        ) : (
          <Button text={t.secondFactor.setUp} onClick={() => setSettingUp(true)} />
        )}
      </div>
    </Panel>
  )
}

function TurnOff({ onClose }: { onClose(): void }) {
  const { values, field } = useFields({ password: '' })
  const turnOff = (): Promise<void> => call('/session/totp/remove', { method: 'POST', body: values }).then(loadSession)
  return (
    <Dialog
      main="password"
      faults={{ invalid_credentials: t.me.wrongPassword }}
      heading={t.secondFactor.turnOff}
      button={t.secondFactor.turnOff}
      run={turnOff}
      onClose={onClose}
      disabled={values.password === ''}
    >
      <p>{t.secondFactor.turnOffText}</p>
      <CurrentPassword {...field('password')} />
    </Dialog>
  )
}

function Sessions() {
  const sessions = useApi<List<SessionItem>>('/session/all')
  const endOthers = async (): Promise<void> => {
    for (const { id, current } of sessions.data?.data ?? []) if (!current) await end(id)
  }
  const others = (sessions.data?.data.length ?? 1) - 1
  return (
    <Panel
      heading={t.me.sessions}
      text={t.me.sessionsText}
      aside={others > 1 && <ActionButton look="small" text={t.me.endOthers(others)} run={endOthers} />}
    >
      <Answer of={sessions}>{({ data }) => <Rows rows={data.toReversed()} columns={sessionColumns()} />}</Answer>
    </Panel>
  )
}

async function end(id: string): Promise<void> {
  await call(`/session/all/${id}`, { method: 'DELETE' })
  invalidate('/session/all')
}

const sessionColumns = (): Column<SessionItem>[] => [
  {
    head: t.me.browser,
    kind: 'title',
    cell: ({ user_agent: userAgent, current }) => (
      <>
        <span title={userAgent}>{browserName(userAgent)}</span> {current && <span class="tag">{t.me.thisOne}</span>}
      </>
    ),
  },
  { head: t.common.address, cell: ({ address }) => <code>{address}</code> },
  { head: t.me.begun, kind: 'quiet', cell: ({ created_at: begun }) => shortDate(begun) },
  { head: t.common.lastUsed, kind: 'quiet', cell: ({ last_seen_at: seen }) => <Age of={seen} /> },
  {
    head: '',
    cell: ({ id, current }) =>
      !current && (
        <div class="acts end">
          <ActionButton look="small" text={t.me.end} run={() => end(id)} />
        </div>
      ),
  },
]

const ThisBrowser = () => (
  <Panel heading={t.me.thisBrowser} text={t.me.thisBrowserText}>
    <div class="body settings">
      <Choice
        name={null}
        label={t.me.look}
        value={theme.value}
        options={themes.map((each) => [each, t.me.themes[each] ?? each])}
        onValue={chooseTheme}
      />
      <Choice name={null} label={t.me.language} value={language()} options={Object.entries(languages)} onValue={chooseLanguage} />
      <Switch name={null} label={t.me.shortcuts} value={shortcutsAreOn.value} onValue={turnShortcuts} />
    </div>
  </Panel>
)
