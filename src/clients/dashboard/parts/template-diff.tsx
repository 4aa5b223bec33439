import type { TemplateDiff } from '../api/types.ts'
import { t } from '../texts/texts.ts'

/** How two versions differ, part by part and line by line. */
export const Differences = ({ diff: { parts } }: { diff: TemplateDiff }) =>
  parts.length === 0 ? (
    <p class="muted">{t.template.same}</p>
  ) : (
    <div class="stack">
      {parts.map(({ part, added, removed, diff, truncated }) => (
        <section key={part} aria-label={t.template.parts[part] ?? part}>
          <h3>
            {t.template.parts[part] ?? part} <span class="muted">{t.template.lines(added, removed)}</span>
          </h3>
          <div class="diff" tabIndex={0} role="region" aria-label={t.template.differences(t.template.parts[part] ?? part)}>
            {diff
              .replace(/\n$/, '')
              .split('\n')
              .map((line, place) => (
                <Line key={place} line={line} />
              ))}
          </div>
          {truncated && <p class="muted">{t.template.truncated}</p>}
        </section>
      ))}
    </div>
  )

/** A line of a unified diff; what it begins with says what became of it. */
function Line({ line }: { line: string }) {
  const [kind, Mark] = kinds[line[0] ?? ' '] ?? ['', 'span']
  return (
    <code class={kind}>
      <span>{line.slice(0, 1)}</span>
      <Mark>{line.slice(1)}</Mark>
    </code>
  )
}

const kinds: Record<string, [kind: string, mark: 'ins' | 'del' | 'span']> = {
  '+': ['ok', 'ins'],
  '-': ['bad', 'del'],
  '@': ['place', 'span'],
  '\\': ['place', 'span'],
}
