import { overlay } from './keyboard.ts'
import { Button } from './parts/button.tsx'
import { useModal } from './parts/dialog.tsx'
import { Link } from './router.tsx'
import { sectionGroups } from './sections.ts'
import { t } from './texts/texts.ts'

/** What the keys do. */
export function ShortcutHelp() {
  const dialog = useModal()
  const close = (): void => void (overlay.value = null)
  const pages = sectionGroups().flatMap(({ sections }) => sections.filter(({ letter }) => letter !== null))
  return (
    <dialog class="wide" ref={dialog} aria-label={t.me.shortcuts} onClose={close}>
      <h2>{t.me.shortcuts}</h2>
      <dl class="keys">
        {t.keyboard.map(([keys, what]) => (
          <Row key={what} keys={keys} what={what} />
        ))}
        {pages.map(({ letter, text }) => (
          <Row key={letter} keys={['g', letter ?? '']} what={text} />
        ))}
      </dl>
      <div class="acts end">
        <Link class="btn plain" href="/me" onClick={close}>
          {t.keyboardOff}
        </Link>
        <Button look="main" text={t.common.close} onClick={close} />
      </div>
    </dialog>
  )
}

const Row = ({ keys, what }: { keys: string[]; what: string }) => (
  <div>
    <dt>
      {keys.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </dt>
    <dd>{what}</dd>
  </div>
)
