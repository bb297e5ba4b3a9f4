# shellcheck shell=bash disable=SC2034,SC2154,SC1091
# Debian packages: those the build needs from the system, and those only unpacked for their text or source.

# Programs and the package each comes from.
needed_programs=(g++:g++ cmake:cmake ninja:ninja-build pkg-config:pkg-config git:git unzip:unzip "$python:python3"
  dpkg-source:dpkg-dev ccache:ccache)
needed_packages=(libsentencepiece-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libfmt-dev libspdlog-dev
  libgtest-dev libgmock-dev libbenchmark-dev libxxhash-dev libutf8proc-dev libicu-dev libeigen3-dev zlib1g-dev
  libopenblas-serial-dev libgfortran5)

is_debian12() { (. /etc/os-release && [[ $ID == debian && ${VERSION_ID:-} == 12 ]]); }

# The linter. What it says depends on its version, so that others are of no use.
need_linter() {
  if is_debian12; then
    needed_programs+=(clang-format:clang-format clang-tidy:clang-tidy)
  else
    say "notice: the linter is not installed: Debian 12's version is the project's"
  fi
}

# A Chromium and a font for it. Ubuntu's package is a snap, which a container cannot run: there it must be present.
need_browser() {
  command -v chromium chromium-browser google-chrome >/dev/null && return
  if (. /etc/os-release && [[ $ID == ubuntu ]]); then
    say "no Chromium: the report page is not tested in a browser"
  else
    needed_packages+=(chromium fonts-dejavu-core)
  fi
}

missing_packages() {
  local pair package
  for pair in "${needed_programs[@]}"; do
    command -v "${pair%%:*}" >/dev/null || printf '%s\n' "${pair##*:}"
  done
  $python -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("pip") is None)' 2>/dev/null ||
    printf 'python3-pip\n'
  comm -23 <(printf '%s\n' "${needed_packages[@]}" | sort) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${needed_packages[@]}" 2>/dev/null |
      awk '$1 == "installed" {print $2}' | sort -u)
}

install_debian_packages() {
  command -v dpkg-query >/dev/null || fail "Debian 12 or Ubuntu 24.04 is needed (dpkg is not here)"
  local missing
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then
    say "Debian packages: present"
    return
  fi
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  if ((EUID != 0)); then
    printf 'setup: Debian packages are missing. As root, run:\n  %s\n' "$command" >&2
    exit 1
  fi
  local log="$deps/logs/debian.log"
  { apt-get update && DEBIAN_FRONTEND=noninteractive $command; } >"$log" 2>&1 </dev/null ||
    fail "Debian packages: could not install ${missing[*]}; see $log, then run tools/setup.sh again"
  say "Debian packages: installed ${missing[*]}"
}

# apt with package lists of our own, so that neither root nor a change to the system's sources is needed.
private_apt() {
  local folder="$deps/apt" options=()
  ((EUID == 0)) && options=(-o APT::Sandbox::User=root)
  "$@" -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- \
    -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o Acquire::Languages=none \
    -o Acquire::Retries=3 "${options[@]}"
}

# Copies the distribution's own entries of the system's sources, each with its source packages.
update_private_apt() {
  local folder="$deps/apt" codename keyring signed_by=""
  [[ -f $folder/updated && -n $(find "$folder/updated" -mmin -120) ]] && return
  codename=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  keyring=/usr/share/keyrings/$(. /etc/os-release && printf '%s' "$ID")-archive-keyring.gpg
  [[ -f $keyring ]] && signed_by="[signed-by=$keyring] "
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v codename="$codename" -v signed_by="$signed_by" \
      'index($2, codename) == 1 && !seen[$0]++ {print "deb " signed_by $0; print "deb-src " signed_by $0}' >"$folder/sources.list"
  [[ -s $folder/sources.list ]] || give_up "the system's apt sources list nothing of $codename"
  # A mirror may lack source packages: then the binary ones alone.
  private_apt apt-get update || { sed -i '/^deb-src/d' "$folder/sources.list" && private_apt apt-get update; } ||
    give_up "could not read the package lists; run tools/setup.sh again"
  touch "$folder/updated"
}

# fetch_deb FOLDER PACKAGE: downloads the binary package into FOLDER unless a version of it is there.
fetch_deb() {
  local folder=$1 package=$2 partial="$deps/partial-deb"
  compgen -G "$folder/${package}_*.deb" >/dev/null && return
  update_private_apt
  rm -rf "$partial" && mkdir -p "$partial"
  (cd "$partial" && private_apt apt-get download "$package") ||
    give_up "could not download Debian's $package; run tools/setup.sh again"
  mkdir -p "$folder" && mv "$partial/${package}"_*.deb "$folder/" && rm -rf "$partial"
}
