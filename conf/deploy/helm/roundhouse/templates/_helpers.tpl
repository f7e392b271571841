{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "roundhouse.name" -}}
{{ .Values.nameOverride | default "roundhouse" | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- define "roundhouse.account" -}}
{{ .Values.serviceAccount.name | default (include "roundhouse.name" .) }}
{{- end }}
{{- define "roundhouse.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* One init container that copies a plugin of .Values.plugins, as `roundhouse manifests --plugin-image` makes it. */}}
{{- define "roundhouse.plugin" -}}
- name: plugin-{{ .name }}
  image: {{ .image | quote }}
  imagePullPolicy: IfNotPresent
  command: [cp, -R, /plugins/., /var/lib/roundhouse/plugins]
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {cpu: "1", memory: 64Mi}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
  volumeMounts:
  - name: plugins
    mountPath: /var/lib/roundhouse/plugins
{{- end }}

{{- /* What the configuration says of the plugins of .Values.plugins whose hash is given. Empty: there is none. */}}
{{- define "roundhouse.pins" -}}
{{- range .Values.plugins }}
{{- if .sha256 }}
allow = {{ .name }}@sha256:{{ .sha256 }}
{{- end }}
{{- end }}
{{- end }}
